"""One table in Spark and in DuckDB: the same statements change both."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

import duckdb
from pyspark.sql import SparkSession

from tests.campaign.random_queries import TYPES, condition, literal, query
from tests.values.shared_sql import sql_text

Row: TypeAlias = tuple[object, ...]

_TEXTS: Final = tuple(map(sql_text, ("x", "y", "z'q", "€😀 é", "x" * 240, "x" * 239 + "y")))
"""Of partitions: the name of a folder has 255 bytes at most."""

_LONG_TEXTS: Final = tuple(map(sql_text, ("x" * 511, "x" * 512, "é" * 4096 + "z")))
_LARGEST: Final = (2**30, -(2**30), 65_536, -129)
"""Of v, for statements and queries add small numbers to it."""


@dataclass
class Twins:
    """One table in both engines; `key` is empty for a bag of rows."""

    spark: SparkSession
    duck: duckdb.DuckDBPyConnection
    dice: random.Random
    name: str
    key: tuple[str, ...]
    said: list[str]
    columns: dict[str, str] = field(
        default_factory=lambda: {"id": "INT", "p": "STRING", "v": "INT"}
    )
    asked: int = 0
    is_partitioned: bool = False
    versions: dict[int, Counter[Row]] = field(default_factory=dict)
    shapes: dict[int, tuple[str, ...]] = field(default_factory=dict)

    def create(self, options: str) -> None:
        """Make the table in both engines."""
        key = f", PRIMARY KEY ({', '.join(self.key)}) NOT ENFORCED" if self.key else ""
        self.is_partitioned = "PARTITIONED" in options
        self.both(
            f"CREATE TABLE {self.name} (id INT, p STRING, v INT{key}) {options}",
            f"CREATE TABLE {self.name} (id INT, p VARCHAR, v INT)",
        )

    def both(self, ours: str, theirs: str | None = None) -> None:
        """Run a statement in both engines."""
        self._say(ours)
        self.duck.execute(theirs or ours)

    def _say(self, statement: str) -> None:
        """Run a statement in Spark alone."""
        self.said.append(statement)
        self.spark.sql(statement).collect()

    def values(self, count: int) -> list[tuple[str, ...]]:
        """Random rows of literals; key columns are never NULL."""
        return [tuple(map(self._value, self.columns)) for _ in range(count)]

    def _value(self, column: str) -> str:
        if column not in self.key and self.dice.random() < 0.15:
            return "NULL"
        if column == "p":
            is_long = not self.is_partitioned and self.dice.random() < 0.2
            return self.dice.choice(_LONG_TEXTS if is_long else _TEXTS)
        if column == "id":
            return str(self.dice.randrange(12))
        if column == "v":
            is_small = self.dice.random() < 0.9
            return str(self.dice.randrange(100) if is_small else self.dice.choice(_LARGEST))
        return literal(self.dice, self.columns[column])

    def insert(self) -> None:
        """INSERT; with a key the last row of each key wins."""
        rows = self.values(self.dice.randrange(1, 6))
        self._say(f"INSERT INTO {self.name} ({self._names}) VALUES {_sql(rows)}")
        if self.key:
            rows = self._last_of_each_key(rows)
        self._insert_theirs(f"SELECT * FROM (VALUES {_sql(rows)}) AS q({self._names})")

    def _last_of_each_key(self, rows: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
        at = [[*self.columns].index(name) for name in self.key]
        return list({tuple(row[i] for i in at): row for row in rows}.values())

    def insert_own_rows(self) -> None:
        """INSERT of some of the table's own rows, each below the next id."""
        query = (
            f"SELECT id + 1 AS id, {', '.join([*self.columns][1:])} FROM {self.name} "
            f"WHERE {self._condition()}"
        )
        self._say(f"INSERT INTO {self.name} ({self._names}) {query}")
        self._insert_theirs(query)

    @property
    def _names(self) -> str:
        return ", ".join(self.columns)

    @property
    def _added(self) -> dict[str, str]:
        """The columns behind id, p and v."""
        return dict([*self.columns.items()][3:])

    def _condition(self) -> str:
        return condition(self.dice, self.name, self._added)

    def _insert_theirs(self, query: str) -> None:
        """Put a query's rows into DuckDB's table, in the place of those with their keys."""
        self.duck.execute(f"CREATE OR REPLACE TEMP TABLE came AS {query}")
        if self.key:
            match = " AND ".join(f"t.{k} = s.{k}" for k in self.key)
            self.duck.execute(f"DELETE FROM {self.name} AS t USING came AS s WHERE {match}")
        self.duck.execute(f"INSERT INTO {self.name} ({self._names}) SELECT * FROM came")

    def update(self) -> None:
        """UPDATE of a column that is no key."""
        assignment = self.dice.choice(
            [
                "v = v + 1",
                "v = NULL",
                "v = id * 10",
                "v = CASE WHEN p = 'x' THEN 0 ELSE v - 1 END",
                f"v = (SELECT max(s.v) FROM {self.name} AS s)",
            ]
        )
        if not self.key and self.dice.random() < 0.2:
            assignment = "id = v % 50, p = NULL"
        elif self._added and self.dice.random() < 0.3:
            column = self.dice.choice([*self._added])
            assignment = f"{column} = {self._value(column)}"
        self.both(f"UPDATE {self.name} SET {assignment} WHERE {self._condition()}")

    def delete(self) -> None:
        """DELETE by a condition."""
        self.both(f"DELETE FROM {self.name} WHERE {self._condition()}")

    def merge(self) -> None:
        """MERGE with all kinds of clause from a source without duplicates."""
        rows = [(str(i), str(self.dice.randrange(-50, 50))) for i in self.dice.sample(range(14), 5)]
        values = ", ".join(["s.k", "'x'", "s.n", *["NULL" for _ in self._added]])
        source = f"(SELECT * FROM (VALUES {_sql(rows)}) AS q(k, n)) AS s"
        self.both(
            f"MERGE INTO {self.name} AS t USING {source} ON t.id = s.k "
            "WHEN MATCHED AND s.n < 0 THEN DELETE "
            "WHEN MATCHED THEN UPDATE SET v = t.v + s.n "
            f"WHEN NOT MATCHED AND s.n >= 0 THEN INSERT ({self._names}) "
            f"VALUES ({values}) "
            "WHEN NOT MATCHED BY SOURCE AND t.v > 90 THEN UPDATE SET v = 0"
        )

    def merge_whole_rows(self) -> None:
        """MERGE that looks at no row of the target; the source has each key once."""
        rows = self._last_of_each_key(self.values(self.dice.randrange(1, 6)))
        others = ", ".join(f"{c} = s.{c}" for c in self.columns if c not in self.key)
        self.both(
            f"MERGE INTO {self.name} AS t "
            f"USING (SELECT * FROM (VALUES {_sql(rows)}) AS q({self._names})) AS s "
            f"ON {' AND '.join(f't.{k} = s.{k}' for k in self.key)} "
            f"WHEN MATCHED THEN UPDATE SET {others} WHEN NOT MATCHED THEN INSERT ({self._names}) "
            f"VALUES ({', '.join(f's.{c}' for c in self.columns)})"
        )

    def overwrite(self) -> None:
        """INSERT OVERWRITE by the rows with even ids."""
        query = f"SELECT {self._names} FROM {self.name} WHERE id % 2 = 0"
        self.both(
            f"INSERT OVERWRITE {self.name} {query}",
            f"DELETE FROM {self.name} WHERE id % 2 <> 0 OR id IS NULL",
        )

    def truncate(self) -> None:
        """TRUNCATE: no row is left."""
        self.both(f"TRUNCATE TABLE {self.name}")

    def compact(self) -> None:
        """COMPACT, which changes no row."""
        self._say(f"ALTER TABLE {self.name} COMPACT")

    def add_column(self) -> None:
        """A new column, with a default or without."""
        column, kind = f"c{len(self.said)}", self.dice.choice(TYPES)
        default = self.dice.choice(["", f" DEFAULT {literal(self.dice, kind)}"])
        added = f"ALTER TABLE {self.name} ADD COLUMN {column} {kind}{default}"
        self.both(added, added.replace("STRING", "VARCHAR").replace("TIME(6)", "TIME"))
        self.columns[column] = kind

    def change_column(self) -> None:
        """Another name or a wider type for a column that came later, or it goes."""
        column = self.dice.choice([*self._added])
        kind = self.dice.choice(["name", "type", "gone"])
        if kind == "gone":
            self.both(f"ALTER TABLE {self.name} DROP COLUMN {column}")
            del self.columns[column]
        elif kind == "type" and self.columns[column] == "INT":
            self.both(f"ALTER TABLE {self.name} ALTER COLUMN {column} TYPE BIGINT")
            self.columns[column] = "BIGINT"
        else:
            name = f"d{len(self.said)}"
            self.both(f"ALTER TABLE {self.name} RENAME COLUMN {column} TO {name}")
            self.columns = {name if c == column else c: t for c, t in self.columns.items()}

    def step(self, queries: int) -> None:
        """One change, then the comparison and so many random queries."""
        change = self.dice.choice(self._changes()) if self.versions else self.insert
        change()
        rows = self.compare()
        for _ in range(queries):
            self.ask(query(self.dice, self.name, self._added))
        newest = self.spark.sql(f"SELECT max(snapshot_id) FROM `{self.name}$snapshots`").first()
        if newest is not None and newest[0] is not None:
            self.versions.setdefault(newest[0], rows)
            self.shapes.setdefault(newest[0], tuple(self.columns))

    def _changes(self) -> list[Callable[[], None]]:
        changes = [self.insert] * 8 + [self.update] * 6 + [self.delete] * 5 + [self.merge] * 5
        changes += [self.insert_own_rows, self.overwrite, self.compact, self.compact]
        if self.key:
            changes += [self.merge_whole_rows] * 3
        if len(self._added) < 3:
            changes += [self.add_column] * 2
        if self._added:
            changes += [self.change_column] * 2
        return [*changes, self.truncate]

    def compare(self) -> Counter[Row]:
        """Both engines' rows are the same bag; return it."""
        return self._answer(f"SELECT {self._names} FROM {self.name}")

    def ask(self, text: str) -> None:
        """Both engines answer a query with the same bag of rows."""
        self._answer(text)
        self.asked += 1

    def _answer(self, text: str) -> Counter[Row]:
        ours = _bag(self.spark.sql(text).collect())
        theirs = _bag(self.duck.execute(text).fetchall())
        assert ours == theirs, f"{text}: only ours {ours - theirs}, only theirs {theirs - ours}"
        return ours

    def check_past(self) -> None:
        """Every snapshot still reads as it did when it was the newest."""
        for version, rows in self.versions.items():
            text = f"SELECT * FROM {self.name} VERSION AS OF {version}"
            assert _bag(self.spark.sql(text).collect()) == rows, text

    def check_ranges(self) -> None:
        """The changes from one snapshot to another lead from its rows to the other's."""
        for _ in range(3):
            first, last = sorted(self.dice.choices([*self.versions], k=2))
            before, after = self.versions[first], self.versions[last]
            if first == last or self.shapes[first] != self.shapes[last]:
                continue
            text = (
                f"SELECT * FROM {self.name} CHANGES FROM VERSION {first} EXCLUSIVE "
                f"TO VERSION {last} WITH ('deduplicationMode' = 'netChanges')"
            )
            total = Counter(before)
            for row in map(_comparable, self.spark.sql(text).collect()):
                total[row[:-3]] += 1 if row[-3] in ("insert", "update_postimage") else -1
            total = Counter({row: count for row, count in total.items() if count})
            assert total == after, f"{text}: {total - after}, {after - total}"

    def check_changes(self) -> None:
        """Summed up to any version, the changes are as many rows as there were then."""
        text = f"SELECT * FROM {self.name} CHANGES FROM VERSION 1 ORDER BY _commit_version"
        width, total = len(self.columns), Counter[Row]()
        counts: dict[int, int] = {}
        for change in self.spark.sql(text).collect():
            row, kind, version = _comparable(change[:width]), change[width], change[width + 1]
            total[row] += 1 if kind == "insert" else -1
            counts[version] = total.total()
        assert Counter({row: count for row, count in total.items() if count}) == self.compare()
        for version, rows in self.versions.items():
            assert counts.get(version, rows.total()) == rows.total(), version


def _bag(rows: Iterable[Row]) -> Counter[Row]:
    return Counter(map(_comparable, rows))


def _comparable(row: Row) -> Row:
    """The row, in which NaN equals itself."""
    return tuple("NaN" if value != value else value for value in row)


def _sql(rows: Sequence[tuple[str, ...]]) -> str:
    return ", ".join(f"({', '.join(row)})" for row in rows)
