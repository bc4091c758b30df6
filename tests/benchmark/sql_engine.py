"""A table of a workload in a table format, spoken to in the format's own words."""

from __future__ import annotations

from pyspark.sql import SparkSession

from tests.benchmark.table_format import TableFormat
from tests.benchmark.table_layout import TableLayout

_CLAUSES = {
    "merge": "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "merge column": "WHEN MATCHED THEN UPDATE SET qty = t.qty + s.qty "
    "WHEN NOT MATCHED THEN INSERT *",
    "insert new": "WHEN NOT MATCHED THEN INSERT *",
    "delete": "WHEN MATCHED THEN DELETE",
}


class NotSaidError(Exception):
    """The description of a format has no such statement."""


class SqlEngine:
    """One table of one format. `source` is always the name of a view with the table's columns."""

    def __init__(
        self, spark: SparkSession, table_format: TableFormat, name: str, layout: TableLayout
    ) -> None:
        self.name = table_format.name
        self.table = table_format.table.format(name=name)
        self._spark = spark
        self._statements = table_format.statements
        self._layout = layout
        self._match = f"t.{layout.key} = s.{layout.key}"

    def can(self, statement: str) -> bool:
        """Return whether the format has words for it."""
        return statement in self._statements

    def create(self, statement: str = "create") -> None:
        """Make the empty table in the place of one that is there."""
        self.drop()
        layout = self._layout
        self._say(statement, columns=layout.definition, key=layout.key, buckets=str(layout.buckets))

    def drop(self) -> None:
        """Drop the table if it is there."""
        self._say("drop")

    def insert(self, source: str) -> None:
        """Write all rows of the source."""
        self._say("insert", source=source)

    def upsert(self, source: str) -> None:
        """Write the rows of the source in the place of those with their keys."""
        self._say("upsert", source=source, match=self._match)

    def change(self, kind: str, source: str) -> None:
        """Do what a `Change` of this kind says, as MERGE where it is none of the two above."""
        if kind in _CLAUSES:
            self._say("merge", source=source, match=self._match, clauses=_CLAUSES[kind])
        else:
            {"insert": self.insert, "upsert": self.upsert}[kind](source)

    def compact(self) -> None:
        """Rewrite the table so that it is read best."""
        self._say("compact")

    def update(self, assignments: str, condition: str) -> None:
        """Change rows."""
        self._say("update", assignments=assignments, condition=condition)

    def delete(self, condition: str) -> None:
        """Delete rows."""
        self._say("delete", condition=condition)

    def _say(self, statement: str, **names: str) -> None:
        if not self.can(statement):
            raise NotSaidError(f"the description of {self.name} has no statement {statement!r}")
        for text in self._statements[statement]:
            self._spark.sql(text.format(table=self.table, **names)).collect()
