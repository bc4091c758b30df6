"""Goal: jobs that follow one table read its changes once, with the columns that all of them use."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, cast

import pytest

from table_store.catalog.planner.epochs.source_changes import SourceChange

COLUMNS = ("a", "b", "c")


@dataclass
class FakeQuery:
    """What a job asks of the JVM; a frame is the columns that it has."""

    held: dict[str, SimpleNamespace] = field(default_factory=dict)
    created: dict[str, int] = field(default_factory=lambda: {"/w/t": 7})

    def shared(self, key: str) -> SimpleNamespace | None:
        return self.held.get(key)

    def share(self, key: str, rows: SimpleNamespace) -> None:
        self.held[key] = rows

    def settled(self, rows: SimpleNamespace) -> SimpleNamespace:
        return rows

    def weighted(self, rows: SimpleNamespace, _: object, __: str) -> SimpleNamespace:
        return rows


def test_a_later_epoch_reads_at_once_what_all_jobs_use(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[set[str]] = []

    def changes(_: SourceChange, __: object, names: Set[str]) -> SimpleNamespace:
        reads.append(set(names))
        return SimpleNamespace(columns=sorted(names))

    monkeypatch.setattr(SourceChange, "_changes", changes)
    query = FakeQuery()
    for old in (1, 2):
        for used in ("a", "b"):
            change = SourceChange(
                source=cast("Any", SimpleNamespace(table_handle=SimpleNamespace(path="/w/t"))),
                columns=COLUMNS,
                read=frozenset((used,)),
                scan=cast(
                    "Any",
                    SimpleNamespace(
                        schema=SimpleNamespace(column_names=COLUMNS), skips_untracked=False
                    ),
                ),
                old=old,
                new=old + 1,
                rows=1,
            )
            assert used in cast("Any", change.changed(cast("Any", query))).columns
    # The second job needed more than was held, so that it read the whole rows.
    assert reads == [{"a"}, {"a", "b", "c"}, {"a", "b"}]
