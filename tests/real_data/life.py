"""What a user does with a data set, and DuckDB with the same rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import duckdb
import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from table_store import connect
from table_store.client.table import Table
from tests.integration.streaming_mode import flush, streaming
from tests.real_data.data_set import DataSet

_BACK: Final = 5
"""One row of so many comes back, by plain Python."""


@dataclass
class Life:
    """A managed table with a data set's rows, a view over it and a stream out of it.

    Every change is made to a copy in DuckDB, too. `check` compares what all readers see.

    Attributes:
        spark: a session whose warehouse is `warehouse` and whose zone is UTC.
        folder: an empty one, for files.
        options: clauses behind the table's columns, such as TBLPROPERTIES.
        is_keyed: whether the table has the data set's primary key.
    """

    spark: SparkSession
    warehouse: str
    folder: Path
    data: DataSet
    name: str
    options: str
    is_keyed: bool
    rows: pa.Table
    duck: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)

    @property
    def table(self) -> Table:
        """The table for plain Python, at its newest schema."""
        return connect(self.warehouse).open(self.name)

    def create(self) -> None:
        """Make the table and what follows it, without rows."""
        self.duck.execute("SET TimeZone = 'UTC'")
        self.duck.register("incoming", self.rows)
        self.duck.execute(f"CREATE TABLE {self.name} AS FROM incoming LIMIT 0")
        schema = from_arrow_schema(self.rows.schema)
        columns = ", ".join(f"`{f.name}` {f.dataType.simpleString()}" for f in schema.fields)
        key = f", PRIMARY KEY ({', '.join(self.data.key)}) NOT ENFORCED"
        own_key = key if self.is_keyed else ""
        self.spark.sql(f"CREATE TABLE {self.name} ({columns}{own_key}) {self.options}")
        query = self.data.view.format(table=self.name)
        self.spark.sql(f"CREATE MATERIALIZED VIEW {self.name}_view AS {query}")
        self.spark.sql(f"CREATE TABLE {self.name}_sink ({columns}{key})")
        with streaming(self.spark, "1 s", **{"pipeline.name": f"follow {self.name}"}):
            self.spark.sql(f"INSERT INTO {self.name}_sink SELECT * FROM {self.name}")

    def load(self) -> None:
        """Bring a third of the rows by plain Python, and a third by Spark out of Parquet."""
        third = self.rows.num_rows // 3
        first, second = self.rows.slice(0, third), self.rows.slice(third, third)
        self.table.append(first)
        self._offer("other", second)
        self._run(f"INSERT INTO {self.name} SELECT * FROM other")
        self.duck.register("initial", first)
        self.duck.execute(f"INSERT INTO {self.name} FROM initial")

    def change(self) -> None:
        """Update and delete by Spark; MERGE brings the rest, and plain Python some rows again."""
        column, value = self.data.assignment
        self._run(f"UPDATE {self.name} SET {column} = {value} WHERE {self.data.updated}")
        self._merge()
        self._run(f"DELETE FROM {self.name} WHERE {self.data.deleted}")
        self._upsert()

    def _merge(self) -> None:
        third = self.rows.num_rows // 3
        self._offer("late", self.rows.slice(third))
        column = self.data.assignment[0]
        rest = f"WHEN MATCHED THEN UPDATE SET {column} = s.{column} WHEN NOT MATCHED THEN INSERT"
        names = ", ".join(self.rows.column_names)
        values = ", ".join(f"s.{name}" for name in self.rows.column_names)
        self._run(
            f"MERGE INTO {self.name} AS t USING late AS s ON {self._on} {rest} ({names}) "
            f"VALUES ({values})"
        )

    def _upsert(self) -> None:
        """Let plain Python bring some of the rows back as they were; with a key they replace."""
        back = self.rows.slice(0, self.rows.num_rows // _BACK)
        self._offer("back", back)
        gone = f"MERGE INTO {self.name} AS t USING back AS s ON {self._on} WHEN MATCHED THEN DELETE"
        if self.is_keyed:
            self.table.upsert(back)
        else:
            self.spark.sql(gone)
            self.table.append(back)
        self.duck.execute(gone)
        self.duck.execute(f"INSERT INTO {self.name} FROM back")

    def compact(self) -> None:
        """Merge all runs."""
        self.spark.sql(f"ALTER TABLE {self.name} COMPACT")

    def check(self) -> int:
        """Compare the table, its view and the stream's table with DuckDB; return the rows compared.

        The table is read by Spark, by plain Python, by DuckDB over the rows of plain Python, and by
        DuckDB out of exported Parquet files.
        """
        wanted = self._duck(f"SELECT * FROM {self.name}")
        self.assert_same("Spark", self.spark.table(self.name).toArrow(), wanted)
        self.assert_same("plain Python", self.table.scan().to_arrow(), wanted)
        by_duckdb = self.table.scan().to_duckdb(self.duck).to_arrow_table()
        self.assert_same("DuckDB", by_duckdb, wanted)
        folder = self.folder / f"export{len(list(self.folder.iterdir()))}"
        self.spark.sql(f"CALL sys.export('{self.name}', 'parquet', '{folder}')")
        exported = self._duck(f"SELECT * FROM read_parquet('{folder}/**/*.parquet')")
        self.assert_same("exported Parquet", exported, wanted)
        self.spark.sql(f"REFRESH MATERIALIZED VIEW {self.name}_view")
        view = self._duck(self.data.view.format(table=self.name))
        self.assert_same("view", self.spark.table(f"{self.name}_view").toArrow(), view)
        flush(self.spark)
        self.assert_same("stream", self.spark.table(f"{self.name}_sink").toArrow(), wanted)
        return int(wanted.num_rows + view.num_rows)

    def drop(self) -> None:
        """End the stream and drop all tables."""
        self.spark.sql(f"STOP JOB 'follow {self.name}'")
        self.spark.sql(f"DROP MATERIALIZED VIEW {self.name}_view")
        for table in (f"{self.name}_sink", self.name):
            self.spark.sql(f"DROP TABLE {table}")

    @property
    def _on(self) -> str:
        return " AND ".join(f"t.{column} = s.{column}" for column in self.data.key)

    def _offer(self, name: str, rows: pa.Table) -> None:
        """Let both engines read rows by a name; Spark reads them out of Parquet."""
        path = str(self.folder / f"{name}.parquet")
        pyarrow.parquet.write_table(rows, path)
        self.spark.read.parquet(path).createOrReplaceTempView(name)
        self.duck.register(name, rows)

    def _run(self, statement: str) -> None:
        self.spark.sql(statement)
        self.duck.execute(statement)

    def _duck(self, query: str) -> pa.Table:
        return self.duck.sql(query).to_arrow_table()

    def assert_same(self, reader: str, found: pa.Table, wanted: pa.Table) -> None:
        """Fail unless a reader has the wanted rows, in any order."""
        names = wanted.column_names
        assert set(found.column_names) == set(names), (reader, found.column_names, names)
        self.duck.register("found", found.select(names).cast(wanted.schema))
        self.duck.register("wanted", wanted)
        lost = self._duck("SELECT * FROM wanted EXCEPT ALL SELECT * FROM found")
        more = self._duck("SELECT * FROM found EXCEPT ALL SELECT * FROM wanted")
        assert not lost.num_rows, (reader, lost.num_rows, "lost", _some(lost), _some(more))
        assert not more.num_rows, (reader, more.num_rows, "too many", _some(more))


def _some(table: pa.Table) -> str:
    return str(table.slice(0, 2).to_pylist())[:2_000]
