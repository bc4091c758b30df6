"""A table or view as DESCRIBE EXTENDED and SHOW CREATE TABLE tell it. Pure: rows come in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import types
from sqlalchemy.dialects.mysql import TINYINT

_KEY = re.compile(r"PRIMARY KEY \((.*?)\)")
_NOT_NULL = re.compile(r"^  (`(?:[^`]|``)+`|\w+) .*\bNOT NULL\b", re.MULTILINE)
_SIZED = re.compile(r"(\w+)(?:\((\d+)(?:, ?(\d+))?\))?")
_SIMPLE: dict[str, type[types.TypeEngine[Any]]] = {
    "boolean": types.Boolean,
    "tinyint": TINYINT,
    "smallint": types.SmallInteger,
    "int": types.Integer,
    "bigint": types.BigInteger,
    "float": types.REAL,
    "double": types.Float,
    "string": types.String,
    "binary": types.LargeBinary,
    "date": types.Date,
    "timestamp": types.TIMESTAMP,
    "timestamp_ntz": types.TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class DescribedTable:
    """Columns are name, type and comment; `query` is that of a view."""

    columns: tuple[tuple[str, str, str], ...]
    not_null: frozenset[str]
    primary_key: tuple[str, ...]
    key_name: str | None
    partition_by: tuple[str, ...]
    comment: str
    query: str

    @staticmethod
    def has_definition(rows: Sequence[Sequence[object]]) -> bool:
        """Whether the rows are those of a table, of which SHOW CREATE TABLE tells more."""
        return any(row[0] == "# Detailed Table Information" for row in rows)

    @classmethod
    def of(cls, rows: Sequence[Sequence[object]], created: str | None) -> DescribedTable:
        """Read the rows of DESCRIBE EXTENDED and, of a table, the text of SHOW CREATE TABLE."""
        columns: list[tuple[str, str, str]] = []
        partitions: list[str] = []
        told: dict[str, str] = {}
        key: tuple[str, ...] = ()
        key_name = None
        section = ""
        for row in rows:
            name, value, comment = (str(cell or "").strip() for cell in row)
            if name == "# col_name":
                continue
            if not name or name.startswith("#"):
                section = name or "#"
            elif not section:
                columns.append((name, value, comment))
            elif section == "# Partition Information":
                partitions.append(name)
            elif section == "# Constraints" and (found := _KEY.match(value)):
                key, key_name = _names(found[1]), name
            else:
                told[name] = value
        definition = (created or "").partition("\n)")[0]
        return cls(
            columns=tuple(columns),
            not_null=frozenset(n for m in _NOT_NULL.finditer(definition) for n in _names(m[1])),
            primary_key=key,
            key_name=key_name,
            partition_by=tuple(partitions),
            comment=told.get("Comment", ""),
            query=told.get("View Text") or told.get("query", ""),
        )

    def reflected_columns(self) -> list[dict[str, Any]]:
        """Return the columns in SQLAlchemy's form."""
        return [
            {
                "name": name,
                "type": sql_type(kind),
                "nullable": name not in self.not_null and name not in self.primary_key,
                "default": None,
                "comment": comment or None,
            }
            for name, kind, comment in self.columns
        ]


def sql_type(kind: str) -> types.TypeEngine[Any]:
    """Return SQLAlchemy's type of one of Spark's; nested and other types are their text."""
    found = _SIZED.fullmatch(kind.split(" COLLATE ")[0].lower())
    if found is None:
        return types.String()
    name, size, scale = found.groups()
    if name == "decimal":
        return types.DECIMAL(int(size or 10), int(scale or 0))
    if name in ("char", "varchar"):
        return types.String(int(size) if size else None)
    return _SIMPLE.get(name, types.String)()


def _names(text: str) -> tuple[str, ...]:
    return tuple(
        name.strip().strip("`").replace("``", "`") for name in text.split(",") if name.strip()
    )
