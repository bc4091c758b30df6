"""Random small statements, each with its meaning on the model."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.campaign.sessions.database import Content, Database, Row
from tests.campaign.sessions.statement import Answer, Change, Statement

_CONDITIONS: dict[str, Callable[[int | None, int | None, int | None], bool]] = {
    "id = 1": lambda i, v, top: i == 1,
    "id <= 2": lambda i, v, top: i is not None and i <= 2,
    "v >= 40": lambda i, v, top: v is not None and v >= 40,
    "v = (SELECT max(v) FROM {name})": lambda i, v, top: v is not None and v == top,
    "v IS NULL": lambda i, v, top: v is None,
}
_ASSIGNED: dict[str, Callable[[int | None, int | None], int | None]] = {
    "v + 1": lambda v, top: None if v is None else v + 1,
    "100": lambda v, top: 100,
    "(SELECT max(v) FROM {name}) + 1": lambda v, top: None if top is None else top + 1,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a case's statements may name: its table, and a name that the table may be given."""

    table: str
    other: str
    definition: str
    has_key: bool

    @classmethod
    def drawn(cls, dice: random.Random, table: str) -> Names:
        """Return a table with key or without, compacted now and then or at each commit."""
        has_key = dice.random() < 0.7
        key = ", PRIMARY KEY (id) NOT ENFORCED" if has_key else ""
        options = dice.choice(["", " TBLPROPERTIES ('num-sorted-run.compaction-trigger' = '2')"])
        return cls(
            table=table,
            other=f"{table}_o",
            definition=f"(id INT, v INT{key}){options}",
            has_key=has_key,
        )

    def first_rows(self, dice: random.Random) -> list[Row]:
        """Return rows that the table holds when its statements begin."""
        return [(i, dice.randrange(100)) for i in range(1, 4)]

    def beginning(self, rows: list[Row]) -> tuple[str, ...]:
        """Return the statements that make the table."""
        values = ", ".join(map(str, rows))
        return (
            f"CREATE TABLE {self.table} {self.definition}",
            f"INSERT INTO {self.table} VALUES {values}",
        )

    def created(self) -> Content:
        """Return what CREATE TABLE makes."""
        return Content.empty(("id", "v"), has_key=self.has_key)


def statement(dice: random.Random, names: Names, subjects: tuple[str, ...]) -> Statement:
    """Return a random statement; `subjects` may hold `columns`, `names` and `streams`."""
    choices = [_insert] * 3 + [_update] * 4 + [_delete, _merge, _merge, _overwrite, _copy]
    choices += [_truncate, _maintain, _maintain, _read, _read, _read]
    if "columns" in subjects:
        choices += [_column] * 5
    if "names" in subjects:
        choices += [_define] * 4
    if "streams" in subjects:
        choices += [_stream] * 2
    name = names.table
    if "names" in subjects and dice.random() < 0.3:
        name = names.other
    return dice.choice(choices)(dice, names, name)


def random_plans(dice: random.Random, names: Names, *, streams: float) -> list[list[Statement]]:
    """Return what two or three sessions do; `streams` is the share of cases that have some."""
    subjects = tuple(subject for subject in ("columns", "names") if dice.random() < 0.3)
    subjects += ("streams",) if dice.random() < streams else ()
    return [
        [statement(dice, names, subjects) for _ in range(dice.randrange(2, 5))]
        for _ in range(dice.choice([2, 2, 3]))
    ]


def read_all(name: str) -> Statement:
    """Return `SELECT *`."""
    return Statement(sql=f"SELECT * FROM {name}", name=name, reads=lambda t: (t.columns, t.rows))


def _change(sql: str, name: str, change: Change) -> Statement:
    return Statement(sql=sql, name=name, changes=(change,))


def _alter(sql: str, name: str, change: Change) -> Statement:
    return Statement(sql=sql, name=name, changes=(change,), is_of_columns=True)


def _insert(dice: random.Random, names: Names, name: str) -> Statement:
    rows = _new_rows(dice)
    return _change(f"INSERT INTO {name} (id, v) VALUES {_values(rows)}", name, _inserting(rows))


def _inserting(rows: list[tuple[int, int]]) -> Change:
    def change(table: Content) -> Content | None:
        if "v" not in table.columns:
            return None
        return table.adding([table.row_of(id=i, v=v) for i, v in rows])

    return change


def _stream(dice: random.Random, names: Names, name: str) -> Statement:
    rows = _new_rows(dice)[:2]
    changes = tuple(_inserting([row]) for row in rows)
    text = f"a stream of {len(rows)} batches to {name}: {_values(rows)}"
    return Statement(sql=text, name=name, changes=changes, rows_of_stream=tuple(rows))


def _update(dice: random.Random, names: Names, name: str) -> Statement:
    where, assigned = dice.choice([*_CONDITIONS]), dice.choice([*_ASSIGNED])

    def change(table: Content) -> Content | None:
        if "v" not in table.columns:
            return None
        top, at = _top(table), table.columns.index("v")
        return table.holding(
            (*row[:at], _ASSIGNED[assigned](row[at], top), *row[at + 1 :])
            if _CONDITIONS[where](row[0], row[at], top)
            else row
            for row in table.rows
        )

    return _change(
        f"UPDATE {name} SET v = {assigned} WHERE {where}".format(name=name), name, change
    )


def _delete(dice: random.Random, names: Names, name: str) -> Statement:
    where = dice.choice([*_CONDITIONS])

    def change(table: Content) -> Content | None:
        if "v" not in table.columns:
            return _deleted_by_key(table, where)
        top, at = _top(table), table.columns.index("v")
        return table.holding(r for r in table.rows if not _CONDITIONS[where](r[0], r[at], top))

    return _change(f"DELETE FROM {name} WHERE {where}".format(name=name), name, change)


def _deleted_by_key(table: Content, where: str) -> Content | None:
    if not where.startswith("id "):
        return None
    return table.holding(row for row in table.rows if not _CONDITIONS[where](row[0], None, None))


def _merge(dice: random.Random, names: Names, name: str) -> Statement:
    rows = [*dict(_new_rows(dice)).items()]
    adds = dice.random() < 0.6

    def change(table: Content) -> Content | None:
        if "v" not in table.columns:
            return None
        at, source = table.columns.index("v"), dict(rows)

        def merged(row: Row) -> Row:
            if row[0] not in source:
                return row
            old, new = row[at], source[row[0]]
            value = (None if old is None else old + new) if adds else new
            return (*row[:at], value, *row[at + 1 :])

        there = {row[0] for row in table.rows}
        inserted = [table.row_of(id=i, v=v) for i, v in rows if i not in there]
        return table.holding([*map(merged, table.rows), *inserted])

    value = "t.v + s.n" if adds else "s.n"
    return _change(
        f"MERGE INTO {name} AS t USING (SELECT * FROM (VALUES {_values(rows)}) AS q(k, n)) AS s "
        f"ON t.id = s.k WHEN MATCHED THEN UPDATE SET v = {value} "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.k, s.n)",
        name,
        change,
    )


def _overwrite(dice: random.Random, names: Names, name: str) -> Statement:
    def change(table: Content) -> Content | None:
        if "v" not in table.columns:
            return None
        at = table.columns.index("v")
        kept = [table.row_of(id=row[0], v=row[at]) for row in table.rows if (row[0] or 0) >= 2]
        return table.holding(kept)

    query = f"SELECT id, v FROM {name} WHERE id >= 2"
    return _change(f"INSERT OVERWRITE {name} (id, v) {query}", name, change)


def _copy(dice: random.Random, names: Names, name: str) -> Statement:
    def copies(table: Content) -> tuple[dict[str, int | None], ...] | None:
        if "v" not in table.columns:
            return None
        at = table.columns.index("v")
        return tuple({"id": (row[0] or 0) + 10, "v": row[at]} for row in table.rows)

    sql = f"INSERT INTO {name} (id, v) SELECT id + 10, v FROM {name}"
    return Statement(sql=sql, name=name, copies=copies)


def _truncate(dice: random.Random, names: Names, name: str) -> Statement:
    return _change(f"TRUNCATE TABLE {name}", name, lambda table: table.holding(()))


def _maintain(dice: random.Random, names: Names, name: str) -> Statement:
    sql = dice.choice(
        [
            f"ALTER TABLE {name} COMPACT",
            f"CALL sys.expire_snapshots(table => '{name}', retain_max => 1)",
        ]
    )
    return _change(sql, name, lambda table: table)


def _read(dice: random.Random, names: Names, name: str) -> Statement:
    if dice.random() < 0.5:
        return read_all(name)
    count, both = f"SELECT count(*) AS c, sum(v) AS s FROM {name}", dice.random() < 0.5

    def reads(table: Content) -> Answer | None:
        if "v" not in table.columns:
            return None
        at = table.columns.index("v")
        values = [row[at] for row in table.rows]
        known = [value for value in values if value is not None]
        row = (len(values), sum(known) if known else None)
        return ("c", "s"), ((row, row) if both else (row,))

    sql = f"{count} UNION ALL {count}" if both else count
    return Statement(sql=sql, name=name, reads=reads)


def _column(dice: random.Random, names: Names, name: str) -> Statement:
    column = dice.choice(["v", "v", "w"])
    kind = dice.choice(["ADD", "ADD", "DROP", "RENAME"])
    if kind == "ADD":
        return _alter(f"ALTER TABLE {name} ADD COLUMN {column} INT", name, _adding(column))
    if kind == "DROP":
        return _alter(f"ALTER TABLE {name} DROP COLUMN {column}", name, _dropping(column))
    target = "w" if column == "v" else "v"
    sql = f"ALTER TABLE {name} RENAME COLUMN {column} TO {target}"
    return _alter(sql, name, _renaming(column, target))


def _adding(column: str) -> Change:
    def change(table: Content) -> Content | None:
        return None if column in table.columns else table.with_column(column)

    return change


def _dropping(column: str) -> Change:
    def change(table: Content) -> Content | None:
        return table.without_column(column) if column in table.columns else None

    return change


def _renaming(column: str, target: str) -> Change:
    def change(table: Content) -> Content | None:
        if column not in table.columns or target in table.columns:
            return None
        columns = tuple(target if name == column else name for name in table.columns)
        return replace(table, columns=columns)

    return change


def _define(dice: random.Random, names: Names, name: str) -> Statement:
    kind = dice.choice(["DROP", "RENAME", "RENAME", "CREATE", "REPLACE"])
    if kind == "DROP":
        return Statement(sql=f"DROP TABLE {name}", name=name, defines=lambda db: db.dropping(name))
    if kind == "RENAME":
        target = names.table if name == names.other else names.other
        return Statement(
            sql=f"ALTER TABLE {name} RENAME TO {target}",
            name=name,
            defines=lambda db: db.renaming(name, target),
        )
    created = names.created()

    def creating(database: Database) -> Database | None:
        if kind == "CREATE" and database.table_of(name) is not None:
            return None
        return database.creating(name, created)

    verb = "CREATE OR REPLACE TABLE" if kind == "REPLACE" else "CREATE TABLE"
    return Statement(sql=f"{verb} {name} {names.definition}", name=name, defines=creating)


def _new_rows(dice: random.Random) -> list[tuple[int, int]]:
    return [(dice.randrange(1, 5), dice.randrange(100)) for _ in range(dice.randrange(1, 3))]


def _values(rows: list[tuple[int, int]]) -> str:
    return ", ".join(f"({i}, {v})" for i, v in rows)


def _top(table: Content) -> int | None:
    at = table.columns.index("v")
    return max((value for row in table.rows if (value := row[at]) is not None), default=None)
