"""Random statements against DuckDB: after each one both hold the same rows, and the past stays.

A failure prints the seed and every statement up to it; `TABLE_STORE_SQL_SEED` runs one seed,
`TABLE_STORE_SQL_STATEMENTS` says how many statements a table gets.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import duckdb
import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = [pytest.mark.spark, pytest.mark.slow]

STATEMENTS = int(os.environ.get("TABLE_STORE_SQL_STATEMENTS", "50"))
Row = tuple[object, ...]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session as a PySpark program starts it, on the environment's configuration."""
    folder = tmp_path_factory.mktemp("random_sql")
    # Sources of MERGE count as small, and the few rows of these tables as many.
    settings = {**OWN_NAME, "spark.sql.autoBroadcastJoinThreshold": "1KB"}
    with spark_session(folder, settings) as session:
        yield session


@dataclass
class Twins:
    """One table in both engines; `key` is empty for a bag of rows."""

    spark: SparkSession
    duck: duckdb.DuckDBPyConnection
    dice: random.Random
    name: str
    key: tuple[str, ...]
    columns: list[str] = field(default_factory=lambda: ["id", "p", "v"])
    said: list[str] = field(default_factory=list)
    versions: dict[int, Counter[Row]] = field(default_factory=dict)

    def create(self, options: str) -> None:
        """Make the table in both engines."""
        key = f", PRIMARY KEY ({', '.join(self.key)}) NOT ENFORCED" if self.key else ""
        self.both(
            f"CREATE TABLE {self.name} (id INT, p STRING, v INT{key}) {options}",
            f"CREATE TABLE {self.name} (id INT, p VARCHAR, v INT)",
        )

    def both(self, ours: str, theirs: str | None = None) -> None:
        """Run a statement in both engines."""
        self.said.append(ours)
        self.spark.sql(ours).collect()
        self.duck.execute(theirs or ours)

    def values(self, count: int) -> list[Row]:
        """Random rows; key columns are never NULL."""
        rows: list[Row] = []
        for _ in range(count):
            row: list[object] = []
            for column in self.columns:
                if column == "p":
                    value: object = self.dice.choice(["x", "y", "z'q"])
                elif column == "id":
                    value = self.dice.randrange(12)
                else:
                    value = self.dice.randrange(100)
                if column not in self.key and self.dice.random() < 0.15:
                    value = None
                row.append(value)
            rows.append(tuple(row))
        return rows

    def insert(self) -> None:
        """INSERT; with a key the last row of each key wins."""
        rows = self.values(self.dice.randrange(1, 6))
        names = ", ".join(self.columns)
        self.said.append(f"INSERT INTO {self.name} ({names}) VALUES {_sql(rows)}")
        self.spark.sql(self.said[-1])
        if self.key:
            at = [self.columns.index(name) for name in self.key]
            rows = list({tuple(row[i] for i in at): row for row in rows}.values())
            match = " AND ".join(f"t.{k} = s.{k}" for k in self.key)
            self.duck.execute(
                f"DELETE FROM {self.name} t USING (SELECT * FROM (VALUES {_sql(rows)}) "
                f"s({names})) s WHERE {match}"
            )
        self.duck.execute(f"INSERT INTO {self.name} ({names}) VALUES {_sql(rows)}")

    def condition(self) -> str:
        """A random condition on any column."""
        return self.dice.choice(
            [
                f"v < {self.dice.randrange(100)}",
                f"id IN ({self.dice.randrange(12)}, {self.dice.randrange(12)})",
                f"p = '{self.dice.choice(['x', 'y', 'nix'])}' AND v >= {self.dice.randrange(100)}",
                "v IS NULL",
                f"NOT (id > {self.dice.randrange(12)} OR v IS NULL)",
                f"id = (SELECT max(id) FROM {self.name})",
            ]
        )

    def update(self) -> None:
        """UPDATE of a column that is no key."""
        assignment = self.dice.choice(["v = v + 1", "v = NULL", "v = id * 10"])
        self.both(f"UPDATE {self.name} SET {assignment} WHERE {self.condition()}")

    def delete(self) -> None:
        """DELETE by a condition."""
        self.both(f"DELETE FROM {self.name} WHERE {self.condition()}")

    def merge(self) -> None:
        """MERGE with all kinds of clause from a source without duplicates."""
        if self.key != ("id",):
            return
        rows = [(i, self.dice.randrange(-50, 50)) for i in self.dice.sample(range(14), 5)]
        others = [c for c in self.columns if c not in ("id", "p", "v")]
        values = ", ".join(["s.k", "'x'", "s.n", *["NULL" for _ in others]])
        source = f"(SELECT * FROM (VALUES {_sql(rows)}) AS q(k, n)) AS s"
        self.both(
            f"MERGE INTO {self.name} AS t USING {source} ON t.id = s.k "
            "WHEN MATCHED AND s.n < 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET v = t.v + s.n "
            f"WHEN NOT MATCHED AND s.n >= 0 THEN INSERT ({', '.join(['id', 'p', 'v', *others])}) "
            f"VALUES ({values}) "
            "WHEN NOT MATCHED BY SOURCE AND t.v > 90 THEN UPDATE SET v = 0"
        )

    def merge_whole_rows(self) -> None:
        """MERGE that looks at no row of the target; the source has each key once."""
        if not self.key:
            return
        at = [self.columns.index(name) for name in self.key]
        rows = {tuple(row[i] for i in at): row for row in self.values(self.dice.randrange(1, 6))}
        names = ", ".join(self.columns)
        others = ", ".join(f"{c} = s.{c}" for c in self.columns if c not in self.key)
        self.both(
            f"MERGE INTO {self.name} AS t "
            f"USING (SELECT * FROM (VALUES {_sql([*rows.values()])}) AS q({names})) AS s "
            f"ON {' AND '.join(f't.{k} = s.{k}' for k in self.key)} "
            f"WHEN MATCHED THEN UPDATE SET {others} WHEN NOT MATCHED THEN INSERT ({names}) "
            f"VALUES ({', '.join(f's.{c}' for c in self.columns)})"
        )

    def overwrite(self) -> None:
        """INSERT OVERWRITE of everything, or of one partition."""
        if self.dice.random() < 0.7:
            return
        query = f"SELECT {', '.join(self.columns)} FROM {self.name} WHERE id % 2 = 0"
        self.both(
            f"INSERT OVERWRITE {self.name} {query}",
            f"DELETE FROM {self.name} WHERE id % 2 <> 0 OR id IS NULL",
        )

    def compact(self) -> None:
        """COMPACT, which changes no row."""
        self.said.append(f"ALTER TABLE {self.name} COMPACT")
        self.spark.sql(self.said[-1]).collect()

    def add_column(self) -> None:
        """A new column, with a default or without."""
        if len(self.columns) > 5:
            return
        column = f"c{len(self.columns)}"
        default = self.dice.choice(["", " DEFAULT 7"])
        self.both(
            f"ALTER TABLE {self.name} ADD COLUMN {column} INT{default}",
            f"ALTER TABLE {self.name} ADD COLUMN {column} INT{default}",
        )
        self.columns.append(column)

    def step(self) -> None:
        """One random statement, then the comparison."""
        kinds = [self.insert] * 4 + [self.update] * 2 + [self.delete] * 2 + [self.merge] * 2
        kinds.append(self.merge_whole_rows)
        self.dice.choice([*kinds, self.overwrite, self.compact, self.add_column])()
        rows = self.compare()
        newest = self.spark.sql(f"SELECT max(snapshot_id) FROM `{self.name}$snapshots`").first()
        if newest is not None and newest[0] is not None:
            self.versions.setdefault(newest[0], rows)

    def compare(self) -> Counter[Row]:
        """Both engines' rows are the same bag."""
        query = f"SELECT {', '.join(self.columns)} FROM {self.name}"
        ours = Counter(tuple(row) for row in self.spark.sql(query).collect())
        theirs = Counter(self.duck.execute(query).fetchall())
        assert ours == theirs, f"only ours {ours - theirs}, only theirs {theirs - ours}"
        count = self.spark.sql(f"SELECT count(*), max(v), min(id) FROM {self.name}").first()
        expected = self.duck.execute(
            f"SELECT count(*), max(v), min(id) FROM {self.name}"
        ).fetchone()
        assert tuple(count or ()) == expected
        return ours

    def check_past(self) -> None:
        """Every snapshot still reads as it did when it was the newest."""
        for version, rows in self.versions.items():
            query = f"SELECT * FROM {self.name} VERSION AS OF {version}"
            assert Counter(map(tuple, self.spark.sql(query).collect())) == rows, query

    def check_changes(self) -> None:
        """Summed up to any version, the changes are as many rows as there were then."""
        query = f"SELECT * FROM {self.name} CHANGES FROM VERSION 1 ORDER BY _commit_version"
        width, total = len(self.columns), Counter[Row]()
        counts: dict[int, int] = {}
        for change in map(tuple, self.spark.sql(query).collect()):
            row, kind, version = change[:width], change[width], change[width + 1]
            total[row] += 1 if kind == "insert" else -1
            counts[version] = total.total()
        assert Counter({row: count for row, count in total.items() if count}) == self.compare()
        for version, rows in self.versions.items():
            assert counts.get(version, rows.total()) == rows.total(), version


SHAPES = {
    "key": (("id",), "TBLPROPERTIES ('bucket' = '2')"),
    "partitioned": (("id", "p"), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
    "bag": ((), ""),
    "partitioned_bag": ((), "PARTITIONED BY (p) TBLPROPERTIES ('bucket' = '2')"),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_random_statements(spark: SparkSession, shape: str) -> None:
    """The rows equal DuckDB's after every statement, and at the end at every snapshot."""
    seed = int(os.environ.get("TABLE_STORE_SQL_SEED", time.time_ns() % 1_000_000))
    key, options = SHAPES[shape]
    twins = Twins(spark, duckdb.connect(), random.Random(f"{seed} {shape}"), f"r_{shape}", key)
    spark.sql(f"DROP TABLE IF EXISTS {twins.name}")
    try:
        twins.create(options)
        for _ in range(STATEMENTS):
            twins.step()
        twins.check_past()
        twins.check_changes()
    except Exception:
        print(f"TABLE_STORE_SQL_SEED={seed}", *twins.said, sep=";\n")
        raise


def _sql(rows: Sequence[Row]) -> str:
    return ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        # Doubled quotes mean the same in both engines.
        return "'" + value.replace("'", "''") + "'"
    return str(value)
