"""What a workload's table looks like, and the queries that read all of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TableLayout:
    """Columns (names and Spark types, the key first) and the number of buckets."""

    columns: tuple[tuple[str, str], ...]
    buckets: int = 2

    @property
    def key(self) -> str:
        """The column that tells one row from all others."""
        return self.columns[0][0]

    @property
    def definition(self) -> str:
        """The columns as CREATE TABLE takes them; the key is never null."""
        (key, kind), *others = self.columns
        return ", ".join([f"{key} {kind} NOT NULL", *(f"{c} {k}" for c, k in others)])

    @property
    def checksum(self) -> str:
        """A query with `{}` for the table: other rows, another answer."""
        names = ", ".join(name for name, _ in self.columns)
        return f"SELECT count(*), sum(xxhash64({names}) % 1000000007) FROM {{}}"

    @property
    def read(self) -> str:
        """A query with `{}` for the table that needs each value, and costs little beside that."""
        sums = ", ".join(f"sum({_number(name, kind)})" for name, kind in self.columns)
        return f"SELECT count(*), {sums} FROM {{}}"


def _number(name: str, kind: str) -> str:
    if kind == "STRING":
        return f"octet_length({name})"
    if kind in {"BIGINT", "TIMESTAMP"}:
        # So that no sum is too large.
        return f"{f'unix_micros({name})' if kind == 'TIMESTAMP' else name} % 1000003"
    return name
