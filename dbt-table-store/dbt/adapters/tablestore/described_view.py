"""What a materialized view is and what its model wants it to be, and the statements between them.

Pure: rows of DESCRIBE and settings of a model come in, clauses of ALTER go out. Only what the model
sets is compared, so that what the table store adds to a view never looks like a change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

_KEY = re.compile(r"PRIMARY KEY \((.*?)\)")


@dataclass(frozen=True, slots=True)
class DescribedView:
    """A materialized view as DESCRIBE EXTENDED tells it; `schedule` is empty if it has none."""

    query: str
    policy: str
    schedule: str
    columns: tuple[tuple[str, str], ...]
    primary_key: tuple[str, ...]
    partition_by: tuple[str, ...]

    @classmethod
    def of(cls, rows: Iterable[Sequence[object]]) -> DescribedView:
        """Read the rows of DESCRIBE EXTENDED: name, value, comment."""
        columns: list[tuple[str, str]] = []
        partitions: list[str] = []
        told: dict[str, str] = {}
        section = "columns"
        for row in rows:
            name, value = (str(cell or "") for cell in row[:2])
            if name == "# col_name":
                continue
            if not name or name.startswith("#"):
                section = name
            elif section == "columns":
                columns.append((name, value))
            elif section == "# Partition Information":
                partitions.append(name)
            elif found := _KEY.match(value):
                told["primary key"] = found[1]
            else:
                told[name] = value
        return cls(
            query=told.get("query", ""),
            policy=told.get("refresh policy", "AUTO"),
            schedule=told.get("schedule", ""),
            columns=tuple(columns),
            primary_key=_names(told.get("primary key", "")),
            partition_by=tuple(partitions),
        )

    def has_query(self, query: str) -> bool:
        """Whether the view has this query, blanks at the ends aside."""
        return self.query.strip() == query.strip()

    def must_be_replaced(
        self,
        columns: Sequence[tuple[str, str]] | None,
        primary_key: Sequence[str],
        partition_by: Sequence[str],
    ) -> bool:
        """Whether no ALTER leads there: other columns (None: as they are), key or partitions."""
        return (
            (columns is not None and _lower(columns) != _lower(self.columns))
            or [n.lower() for n in primary_key] != [n.lower() for n in self.primary_key]
            or [n.lower() for n in partition_by] != [n.lower() for n in self.partition_by]
        )

    def alterations(
        self, query: str, policy: str, schedule: str, options: Mapping[str, str]
    ) -> list[str]:
        """Return what stands behind ALTER MATERIALIZED VIEW, a statement each, the query last.

        `options` are those that the view has not got. A schedule is `SCHEDULE …` or `TRIGGER …`.
        """
        clauses = []
        if _plain(policy) != _plain(self.policy):
            clauses.append(f"set refresh policy {policy}")
        if _plain(schedule) != _plain(self.schedule):
            if not schedule:
                clauses.append("drop schedule")
            else:
                clauses.append(f"{'alter' if self.schedule else 'add'} {schedule}")
        if options:
            pairs = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
            clauses.append(f"set tblproperties ({pairs})")
        if not self.has_query(query):
            clauses.append(f"as {query}")
        return clauses


def _lower(columns: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(name.lower(), kind.lower()) for name, kind in columns]


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip().strip("`") for name in text.split(",") if name.strip())


def _plain(clause: str) -> list[str]:
    """Words of a clause without what makes no difference: case, quotes, a plural."""
    return [word.removesuffix("S") for word in clause.upper().replace("'", "").split()]
