"""Goal: every error reads as Spark's do, has a SQLSTATE, and survives pickling."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import pytest

from table_store.storage.file_store.model import errors as table_errors
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.kernel import errors
from table_store.storage.kernel.errors import TableStoreError

KINDS = sorted(
    (
        kind
        for kind in {**vars(errors), **vars(table_errors)}.values()
        if isinstance(kind, type) and issubclass(kind, TableStoreError)
    ),
    key=lambda kind: kind.__name__,
)


def example(kind: type[TableStoreError]) -> TableStoreError:
    """Make an error with a plausible value for every argument of its constructor."""
    if kind is TableStoreError:
        return TableStoreError("Something happened.")
    arguments: dict[str, Any] = {}
    for name, parameter in inspect.signature(kind).parameters.items():
        text = str(parameter.annotation)
        if "int" in text:
            arguments[name] = 7
        elif "Mapping" in text:
            arguments[name] = {"a": 7, "b": "c"}
        elif "Sequence" in text:
            arguments[name] = ("a", "b")
        elif "bool" in text:
            arguments[name] = True
        else:
            arguments[name] = f"the {name}\n  of two lines"
    return kind(**arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_form_of_every_error(kind: type[TableStoreError]) -> None:
    error = example(kind)
    assert re.fullmatch(r"\[TABLE_STORE_[A-Z_]+\] .*[.?] SQLSTATE: [0-9A-Z]{5}", str(error))
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_conditions_are_not_shared_by_accident() -> None:
    assert len({kind.condition for kind in KINDS}) == len(KINDS)


def test_a_conflict_names_the_other_commit_and_allows_a_retry() -> None:
    error = CommitConflictError(
        table="t", snapshot_id=4, commit_user="me", operation="MERGE", reason="why"
    )
    assert error.retriable
    for part in ("snapshot 4 (MERGE) of 'me'", "why", "safe to run the statement again"):
        assert part in str(error)
