"""A table of nested columns, and the same rows in memory: the same statements change both."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from pyspark.sql import Row, SparkSession
from pyspark.sql.types import StructType

from tests.campaign.nested_kinds import changed, condition, literal, parts, structs
from tests.values.kinds import Array, Kind, Map, Struct, inner_kinds, is_comparable, sql

Bag: TypeAlias = Counter[tuple[str, ...]]

_COLUMNS: Final[Mapping[str, Kind]] = {
    "id": "INT",
    "p": "STRING",
    "s": Struct(
        (
            ("a", "INT"),
            ("b", "STRING"),
            ("t", Struct((("d", "DOUBLE"), ("e", Array("INT"))))),
        )
    ),
    "l": Array(Struct((("x", "INT"), ("y", "STRING")))),
    "m": Map(Struct((("n", "INT"), ("o", "STRING")))),
}
_FIXED: Final = ("id", "p")
_FIELDS_MAX: Final = 5
_NEW: Final[Sequence[Kind]] = ("INT", "STRING", Array("INT"), Struct((("z", "DOUBLE"),)))
_TWIN: Final = "twin"


@dataclass
class NestedTwins:
    """One table in the table store, and in memory; `is_keyed` if id is its key."""

    spark: SparkSession
    truth: SparkSession
    dice: random.Random
    name: str
    is_keyed: bool
    said: list[str]
    columns: dict[str, Kind] = field(default_factory=lambda: dict(_COLUMNS))
    rows: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    versions: dict[int, tuple[dict[str, Kind], Bag]] = field(default_factory=dict)

    def create(self, options: str) -> None:
        """Make both without rows."""
        key = ", PRIMARY KEY (id) NOT ENFORCED" if self.is_keyed else ""
        columns = ", ".join(f"{name} {sql(kind)}" for name, kind in self.columns.items())
        self._say(f"CREATE TABLE {self.name} ({columns}{key}) {options}")
        self._hold()

    def step(self, queries: int) -> None:
        """One change, then the comparison of all rows and so many random queries."""
        self.dice.choice(self._changes() if self.rows else [self.insert])()
        rows = self._answer(f"SELECT * FROM {self.name}")
        for _ in range(queries):
            self._answer(self._query())
            self.asked += 1
        newest = self.spark.sql(f"SELECT max(snapshot_id) FROM `{self.name}$snapshots`").first()
        if newest is not None and newest[0] is not None:
            self.versions.setdefault(newest[0], (dict(self.columns), rows))

    def check_past(self) -> None:
        """Every snapshot reads as it did when it was the newest, and changes lead to the last."""
        for version, (columns, rows) in self.versions.items():
            text = f"SELECT * FROM {self.name} VERSION AS OF {version}"
            assert _bag(self.spark.sql(text).collect()) == rows, text
            if columns == self.columns:
                self._check_changes(version, rows)

    def _check_changes(self, version: int, rows: Bag) -> None:
        text = (
            f"SELECT * FROM {self.name} CHANGES FROM VERSION {version} EXCLUSIVE "
            f"TO VERSION {max(self.versions)} WITH ('deduplicationMode' = 'netChanges')"
        )
        total = Counter(rows)
        for row in self.spark.sql(text).collect():
            came = row["_change_type"] in ("insert", "update_postimage")
            total[tuple(map(_text, row[: len(self.columns)]))] += 1 if came else -1
        wanted = self.versions[max(self.versions)][1]
        assert Counter({row: count for row, count in total.items() if count}) == wanted, text

    def _changes(self) -> list[Callable[[], None]]:
        changes = [self.insert] * 6 + [self.update] * 6 + [self.delete] * 3 + [self.merge] * 4
        return [*changes, self.overwrite, self.compact, *[self.alter] * 3]

    def insert(self) -> None:
        """INSERT; with a key its rows take the place of those with the same one."""
        ids = [self.dice.randrange(12) for _ in range(self.dice.randrange(1, 5))]
        rows = [self._values(str(number)) for number in (set(ids) if self.is_keyed else ids)]
        query = " UNION ALL ".join(f"SELECT {', '.join(row)}" for row in rows)
        self._say(f"INSERT INTO {self.name} {query}")
        gone = f" WHERE id NOT IN ({', '.join(map(str, ids))})" if self.is_keyed else ""
        self._become(f"SELECT * FROM {_TWIN}{gone} UNION ALL {query}")

    def _values(self, number: str) -> list[str]:
        others = [kind for name, kind in self.columns.items() if name != "id"]
        return [number, *(literal(self.dice, kind) for kind in others)]

    def update(self) -> None:
        """UPDATE of a column, or of a field of a struct."""
        column, assigned, value = self._assignment()
        where = self._condition()
        self._say(f"UPDATE {self.name} SET {assigned} WHERE {where}")
        self._become(f"SELECT {self._selected(column, where, value)} FROM {_TWIN}")

    def _assignment(self, prefix: str = "") -> tuple[str, str, str]:
        """A column, what SET says, and the column's value after that."""
        column = self.dice.choice([name for name in self.columns if name not in _FIXED])
        kind, value = self.columns[column], f"{prefix}{column}"
        match kind:
            case Struct(fields) if self.dice.random() < 0.6:
                name, inner = self.dice.choice(fields)
                new = literal(self.dice, inner)
                rebuilt = (f"'{n}', {new if n == name else f'{value}.{n}'}" for n, _ in fields)
                return column, f"{value}.{name} = {new}", f"named_struct({', '.join(rebuilt)})"
            case Array(element) if self.dice.random() < 0.6:
                kept = f"filter({value}, y -> {condition(self.dice, [('y', element)], 1)})"
                return column, f"{value} = {kept}", kept
            case Map(of) if self.dice.random() < 0.6:
                kept = f"map_filter({value}, (k, y) -> {condition(self.dice, [('y', of)], 1)})"
                return column, f"{value} = {kept}", kept
        new = literal(self.dice, kind)
        return column, f"{value} = {new}", new

    def _selected(self, column: str, where: str, value: str, prefix: str = "") -> str:
        new = f"CASE WHEN {where} THEN {value} ELSE {prefix}{column} END AS {column}"
        return ", ".join(new if name == column else f"{prefix}{name}" for name in self.columns)

    def delete(self) -> None:
        """DELETE by a condition."""
        where = self._condition()
        self._say(f"DELETE FROM {self.name} WHERE {where}")
        self._become(f"SELECT * FROM {_TWIN} WHERE NOT coalesce({where}, false)")

    def merge(self) -> None:
        """MERGE of rows with different ids: some delete, some update, some come."""
        ids = self.dice.sample(range(12), 4)
        rows = [zip(self._values(str(number)), self.columns, strict=True) for number in ids]
        source = " UNION ALL ".join(
            f"SELECT {', '.join(f'{value} AS {name}' for value, name in row)}" for row in rows
        )
        column, assigned, value = self._assignment("t.")
        gone, new = self._condition("t."), self._condition("q.")
        listed = ", ".join(self.columns)
        came = ", ".join(f"q.{name}" for name in self.columns)
        self._say(
            f"MERGE INTO {self.name} AS t USING ({source}) AS q ON t.id = q.id "
            f"WHEN MATCHED AND {gone} THEN DELETE WHEN MATCHED THEN UPDATE SET {assigned} "
            f"WHEN NOT MATCHED AND {new} THEN INSERT ({listed}) VALUES ({came})"
        )
        stays = self._selected(column, "q.id IS NOT NULL", value, "t.")
        self._become(
            f"SELECT {stays} FROM {_TWIN} AS t LEFT JOIN ({source}) AS q ON t.id = q.id "
            f"WHERE NOT coalesce(q.id IS NOT NULL AND {gone}, false) UNION ALL SELECT {came} FROM "
            f"({source}) AS q LEFT ANTI JOIN {_TWIN} AS t ON t.id = q.id WHERE {new}"
        )

    def overwrite(self) -> None:
        """INSERT OVERWRITE by some of the table's own rows."""
        where = self._condition()
        self._say(f"INSERT OVERWRITE {self.name} SELECT * FROM {self.name} WHERE {where}")
        self._become(f"SELECT * FROM {_TWIN} WHERE {where}")

    def compact(self) -> None:
        """COMPACT, which changes no row."""
        self._say(f"ALTER TABLE {self.name} COMPACT")

    def alter(self) -> None:
        """A field of a struct comes, goes, or gets another name or a wider type."""
        found = [(p, s) for n, k in self.columns.items() for p, s in structs(n, k)]
        path, struct = self.dice.choice(found)
        new = f"f{len(self.said)}"
        name, inner = self.dice.choice(struct.fields)
        kind = self.dice.choice(["add", "drop", "rename", "type"])
        fields: tuple[tuple[str, Kind], ...]
        if kind == "add" and len(struct.fields) < _FIELDS_MAX:
            of = self.dice.choice(_NEW)
            self._say(f"ALTER TABLE {self.name} ADD COLUMN {path}.{new} {sql(of)}")
            fields = (*struct.fields, (new, of))
        elif kind == "drop" and len(struct.fields) > 1:
            self._say(f"ALTER TABLE {self.name} DROP COLUMN {path}.{name}")
            fields = tuple(f for f in struct.fields if f[0] != name)
        elif kind == "type" and inner == "INT":
            self._say(f"ALTER TABLE {self.name} ALTER COLUMN {path}.{name} TYPE BIGINT")
            fields = tuple((n, "BIGINT" if n == name else k) for n, k in struct.fields)
        else:
            self._say(f"ALTER TABLE {self.name} RENAME COLUMN {path}.{name} TO {new}")
            fields = tuple((new if n == name else n, k) for n, k in struct.fields)
            self.rows = [_renamed(row, [*path.split("."), name], new) for row in self.rows]
        column, *inside = path.split(".")
        self.columns[column] = changed(self.columns[column], inside, lambda _: Struct(fields))
        self._hold()

    def _condition(self, prefix: str = "") -> str:
        return condition(self.dice, [(f"{prefix}{n}", k) for n, k in self.columns.items()])

    def _query(self) -> str:
        inside = [part for n, k in self.columns.items() for part in parts(n, k)]
        plain = [(value, kind) for value, kind in inside if is_comparable(kind)]
        where, (one, _), (other, of) = self._condition(), *self.dice.choices(plain, k=2)
        # Of two zeros either may be the greatest value.
        most = "count" if "DOUBLE" in inner_kinds(of) else "max"
        some = ", ".join(value for value, _ in self.dice.sample(inside, 2))
        keys = f"SELECT id, {one} AS o FROM {self.name}"
        return self.dice.choice(
            [
                f"SELECT {some} FROM {self.name} WHERE {where}",
                f"SELECT {some} FROM {self.name}",
                f"SELECT count(*), count({one}) FROM {self.name} WHERE {where}",
                (
                    f"SELECT {one}, count(*), {most}({other}), min(id) FROM {self.name} "
                    f"WHERE {where} GROUP BY {one}"
                ),
                f"SELECT DISTINCT {one} FROM {self.name}",
                f"SELECT id, e FROM {self.name} LATERAL VIEW OUTER explode(l) u AS e WHERE {where}",
                f"SELECT id, k, v FROM {self.name}, LATERAL explode(m) AS g(k, v) WHERE {where}",
                (
                    f"SELECT u.id, w.id FROM ({keys} WHERE {where}) AS u JOIN ({keys}) AS w "
                    "ON u.o = w.o"
                ),
                (
                    f"SELECT id FROM {self.name} WHERE {one} IN (SELECT {one} FROM {self.name} "
                    f"WHERE {where})"
                ),
            ]
        )

    def _answer(self, text: str) -> Bag:
        ours = _bag(self.spark.sql(text).collect())
        theirs = _bag(self.truth.sql(text.replace(self.name, _TWIN)).collect())
        assert ours == theirs, f"{text}: only ours {ours - theirs}, missing {theirs - ours}"
        return ours

    def _say(self, statement: str) -> None:
        self.said.append(statement)
        self.spark.sql(statement).collect()

    def _become(self, query: str) -> None:
        """Let the rows in memory be those of a query over them."""
        self.rows = [row.asDict(recursive=True) for row in self.truth.sql(query).collect()]
        self._hold()

    def _hold(self) -> None:
        columns = ", ".join(f"{name} {sql(kind)}" for name, kind in self.columns.items())
        found, wanted = self.spark.table(self.name).schema, StructType.fromDDL(columns)
        assert found.simpleString() == wanted.simpleString(), (found, wanted)
        self.truth.createDataFrame(self.rows, columns).createOrReplaceTempView(_TWIN)


def _renamed(value: Any, path: Sequence[str], name: str) -> Any:
    """A value with another name for the field at a path."""
    head, *rest = path
    if isinstance(value, list):
        return [_renamed(item, rest, name) for item in value]
    if not isinstance(value, dict):
        return value
    if head == "value" and rest:
        return {key: _renamed(item, rest, name) for key, item in value.items()}
    if not rest:
        return {name if key == head else key: item for key, item in value.items()}
    return {key: _renamed(item, rest, name) if key == head else item for key, item in value.items()}


def _bag(rows: Iterable[Row]) -> Bag:
    return Counter(tuple(map(_text, row)) for row in rows)


def _text(value: object) -> str:
    """A text that tells values apart; the entries of a map have no order."""
    if isinstance(value, Row):
        fields = zip(value.__fields__, value, strict=True)
        return f"({', '.join(f'{name}={_text(item)}' for name, item in fields)})"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{key}: {_text(item)}' for key, item in value.items()))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    return repr(value)
