"""The change of a table with primary key: one row to write, or one key to delete, for each key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.epochs.difference import (
    CHANGE_TYPE,
    WEIGHT,
    form_of,
    weighted,
)

BAD_KEY: Final = "table-store view key: "
"""What the error begins with that the rows raise when they are evaluated; see `key_problem`."""

_TWICE, _NULL = "twice ", "null "
_KEY, _CAME, _WENT, _NEW, _OLD, _THERE = "__key", "__came", "__went", "__new", "__old", "__there"
_TWICE_NEW: Final = f"{_CAME} > 1"


def keyed_inserts(new: DataFrame, names: Sequence[str], key: Sequence[str]) -> DataFrame:
    """All rows of `new` as rows to insert; fails like `keyed_changes`. It costs one shuffle."""
    return _changes(_by_key(weighted([(new, 1)], names), names, key), names, key, _TWICE_NEW)


def keyed_differences(
    new: DataFrame, old: DataFrame, names: Sequence[str], key: Sequence[str]
) -> DataFrame:
    """What makes `new` of `old`; fails like `keyed_changes`. It costs one shuffle of both."""
    found = _by_key(weighted([(new, 1), (old, -1)], names), names, key)
    is_same = " AND ".join(
        f"{form_of(f'{_NEW}.{quoted(f.name)}', f.dataType)} <=> "
        f"{form_of(f'{_OLD}.{quoted(f.name)}', f.dataType)}"
        for f in old.schema.fields
    )
    found = found.where(f"NOT ({_CAME} = 1 AND {_WENT} = 1 AND {is_same})")
    return _changes(found, names, key, _TWICE_NEW)


def keyed_changes(
    changed: DataFrame,
    names: Sequence[str],
    key: Sequence[str],
    present: DataFrame | None,
    *,
    is_small: bool,
) -> DataFrame:
    """The changes of a bag as those of a table that has one row for each key.

    The result has the columns `names` and `CHANGE_TYPE`: for each key whose row changes the new
    row to insert, else the old row to delete. If two rows of a key would be there, or a key has a
    NULL, its evaluation fails with a text that begins with `BAD_KEY`.

    Args:
        changed: what `difference.changes` returns.
        names: of the columns of `changed`.
        key: those of the primary key.
        present: rows of the table before, among which keys that come new are looked for; None if
            there are none.
        is_small: whether `changed` is at hand and may be sent to each task; the keys of `present`
            are then read, else they are also shuffled.
    """
    found = _by_key(
        changed.withColumn(WEIGHT, F.expr(f"IF({CHANGE_TYPE} = 'insert', 1, -1)")), names, key
    )
    if present is None:
        return _changes(found, names, key, _TWICE_NEW)
    there = present.selectExpr(f"{_key_of(key)} AS {_KEY}", f"true AS {_THERE}")
    if is_small:
        keys = changed.selectExpr(f"{_key_of(key)} AS {_KEY}")
        there = there.join(F.broadcast(keys), _KEY, "left_semi")
    is_twice = f"{_TWICE_NEW} OR ({_CAME} = 1 AND {_WENT} = 0 AND {_THERE})"
    return _changes(found.join(there, _KEY, "left"), names, key, is_twice)


def keyed_newest(rows: DataFrame, names: Sequence[str], key: Sequence[str]) -> DataFrame:
    """The last change of each key: the row to insert, or the one to delete.

    It fails like `keyed_changes` at a NULL in the key of a row to insert. It costs one shuffle.

    Args:
        rows: with weights whose amounts rise from change to change, negative where a row goes.
        names: of the other columns.
        key: those of the primary key.
    """
    row = f"struct({', '.join(map(quoted, names))})"
    found = (
        rows.selectExpr(f"{_key_of(key)} AS {_KEY}", f"{row} AS {_NEW}", WEIGHT)
        .groupBy(_KEY)
        .agg(F.expr(f"max_by(struct({_NEW}, {WEIGHT}), abs({WEIGHT})) AS {_THERE}"))
        .selectExpr(f"{_THERE}.{_NEW} AS {_NEW}", f"{_THERE}.{WEIGHT} AS {WEIGHT}")
    )
    has_null = " OR ".join(f"{_NEW}.{quoted(name)} IS NULL" for name in key)
    change_type = (
        f"CASE WHEN {WEIGHT} < 0 THEN 'delete' WHEN {has_null} THEN "
        f"raise_error(concat('{BAD_KEY}{_NULL}', {_shown(key)})) ELSE 'insert' END"
    )
    return found.where(f"{WEIGHT} > 0 OR NOT ({has_null})").selectExpr(
        *(f"{_NEW}.{quoted(name)} AS {quoted(name)}" for name in names),
        f"CAST({change_type} AS STRING) AS {CHANGE_TYPE}",
    )


def key_problem(raised: str) -> tuple[str, str]:
    """What is wrong, and with which key, of a text that was raised behind `BAD_KEY`."""
    if raised.startswith(_NULL):
        return "a NULL in the key", raised.removeprefix(_NULL)
    return "two rows with the key", raised.removeprefix(_TWICE)


def _by_key(rows: DataFrame, names: Sequence[str], key: Sequence[str]) -> DataFrame:
    """For each key how many rows came and went, and one of each."""
    row = f"struct({', '.join(map(quoted, names))})"
    keyed = rows.selectExpr(f"{_key_of(key)} AS {_KEY}", f"{row} AS {_NEW}", WEIGHT)
    return keyed.groupBy(_KEY).agg(
        F.expr(f"sum(IF({WEIGHT} > 0, {WEIGHT}, 0)) AS {_CAME}"),
        F.expr(f"sum(IF({WEIGHT} < 0, 1, 0)) AS {_WENT}"),
        F.expr(f"first({_NEW}) FILTER (WHERE {WEIGHT} < 0) AS {_OLD}"),
        F.expr(f"first({_NEW}) FILTER (WHERE {WEIGHT} > 0) AS {_NEW}"),
    )


def _changes(
    found: DataFrame, names: Sequence[str], key: Sequence[str], is_twice: str
) -> DataFrame:
    keys = list(map(quoted, key))
    has_null = " OR ".join(f"{_NEW}.{name} IS NULL" for name in keys)
    shown = _shown(key)
    change_type = (
        f"CASE WHEN {_NEW} IS NULL THEN 'delete' "
        f"WHEN {has_null} THEN raise_error(concat('{BAD_KEY}{_NULL}', {shown})) "
        f"WHEN {is_twice} THEN raise_error(concat('{BAD_KEY}{_TWICE}', {shown})) "
        "ELSE 'insert' END"
    )
    values = [f"coalesce({_NEW}, {_OLD}).{quoted(name)} AS {quoted(name)}" for name in names]
    return found.selectExpr(*values, f"CAST({change_type} AS STRING) AS {CHANGE_TYPE}")


def _shown(key: Sequence[str]) -> str:
    """SQL for the key of a new row as a text for messages."""
    keys = list(map(quoted, key))
    values = f"struct({', '.join(f'{_NEW}.{name} AS {name}' for name in keys)})"
    return f"to_json({values}, map('ignoreNullFields', 'false'))"


def _key_of(key: Sequence[str]) -> str:
    return f"struct({', '.join(map(quoted, key))})"
