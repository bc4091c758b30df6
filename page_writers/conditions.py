"""Every error condition that a user may meet: of classes in Python, and of the JVM."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

from page_writers.sources import REPOSITORY, modules
from table_store.storage.kernel.errors import TableStoreError

_NAME = re.compile(r"\bTABLE_STORE_[A-Z_]*[A-Z]\b")
_STATE = re.compile(r"(?:SQLSTATE: |\")([0-9A-Z]{5})\b")
_RAISED_BY_NAME = re.compile(r'"(TABLE_STORE_[A-Z_]*[A-Z])",\s*"([0-9A-Z]{5})"')


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: `summary` is a sentence, empty where only the JVM knows it."""

    name: str
    sql_state: str
    is_retriable: bool
    summary: str


def all_conditions() -> tuple[Condition, ...]:
    """Return every condition once, by name."""
    found = {c.name: c for c in (*_by_name(), *_of_the_jvm(), *_of_classes())}
    return tuple(found[name] for name in sorted(found))


def _of_classes() -> Iterator[Condition]:
    for module in modules():
        importlib.import_module(module)
    classes = [TableStoreError]
    while classes:
        error = classes.pop()
        classes += error.__subclasses__()
        if "condition" in vars(error):
            summary = (error.__doc__ or "").strip().partition("\n\n")[0]
            yield Condition(
                error.condition, error.sql_state, error.retriable, " ".join(summary.split())
            )


def _by_name() -> Iterator[Condition]:
    """The conditions that the planner answers without a class of their own."""
    for path in sorted((REPOSITORY / "catalog").rglob("*.py")):
        for name, state in _RAISED_BY_NAME.findall(path.read_text(encoding="utf-8")):
            yield Condition(name, state, False, "")


def _of_the_jvm() -> Iterator[Condition]:
    for path in sorted((REPOSITORY / "catalog" / "bridge").rglob("*.scala")):
        text = path.read_text(encoding="utf-8")
        for name in _NAME.finditer(text):
            state = _STATE.search(text, name.end())
            if state is not None:
                yield Condition(name[0], state[1], False, "")
