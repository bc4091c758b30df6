"""A table format that is measured: its jars, Spark's configuration for it, and its SQL.

A description is a TOML file; `formats/` has those that ship. What its keys mean:

- `name`: what reports call it. `table`: what a FROM takes, with `{name}` for the table's name.
- `packages`: Maven coordinates that Spark fetches, unless a jar that `provided_by` (a pattern of
  file names) matches lies in Spark's own folder. `jars`: paths of jars on this machine.
- `extensions` and `[conf]`: Spark's. Where `{warehouse}` stands in a value, it is a folder; files
  must be written there, or nobody counts them.
- `[statements]`: SQL, one or several for each of `STATEMENTS`, with names in braces for what
  differs. What is not given is the standard's way to say it, or is not measured.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

STATEMENTS: Mapping[str, frozenset[str]] = {
    "create": frozenset({"columns", "key", "buckets"}),
    "create_write_only": frozenset({"columns", "key", "buckets"}),
    "create_keyless": frozenset({"columns"}),
    "drop": frozenset(),
    "insert": frozenset({"source"}),
    "upsert": frozenset({"source", "match"}),
    "merge": frozenset({"source", "match", "clauses"}),
    "update": frozenset({"assignments", "condition"}),
    "delete": frozenset({"condition"}),
    "compact": frozenset(),
}
"""What is said to a table, and the names that its SQL may use beside `{table}`."""

_STANDARD = {
    "drop": "DROP TABLE IF EXISTS {table}",
    "insert": "INSERT INTO {table} SELECT * FROM {source}",
    "upsert": "MERGE INTO {table} AS t USING {source} AS s ON {match} "
    "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    "merge": "MERGE INTO {table} AS t USING {source} AS s ON {match} {clauses}",
    "update": "UPDATE {table} SET {assignments} WHERE {condition}",
    "delete": "DELETE FROM {table} WHERE {condition}",
}
_KEYS = {"name", "table", "packages", "provided_by", "jars", "extensions", "conf", "statements"}


class FormatError(Exception):
    """A description says what nobody understands."""


@dataclass(frozen=True, slots=True)
class TableFormat:
    """A format as its description says it; statements are complete, each of one or more."""

    name: str
    table: str
    statements: Mapping[str, tuple[str, ...]]
    packages: tuple[str, ...] = ()
    provided_by: str = ""
    jars: tuple[str, ...] = ()
    extensions: tuple[str, ...] = ()
    conf: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def load(cls, path: Path) -> TableFormat:
        """Read a description.

        Raises:
            FormatError: It is no TOML, lacks its name or `create`, or says what is not known.
        """
        try:
            return cls.of(tomllib.loads(path.read_text(encoding="utf-8")))
        except (FormatError, tomllib.TOMLDecodeError, OSError) as error:
            raise FormatError(f"{path}: {error}") from error

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> TableFormat:
        """Return what a description's content says. Raises as `load`."""
        if unknown := content.keys() - _KEYS:
            raise FormatError(f"no such key: {', '.join(sorted(unknown))}")
        if not content.get("name"):
            raise FormatError("`name` is missing")
        given = content.get("statements", {})
        if unknown := given.keys() - STATEMENTS.keys():
            raise FormatError(f"no such statement: {', '.join(sorted(unknown))}")
        if "create" not in given:
            raise FormatError("the statement `create` is missing")
        said = {**given, **_STANDARD, "create_write_only": given["create"], **given}
        statements = {key: _strings(f"statements.{key}", value) for key, value in said.items()}
        for key, texts in statements.items():
            for text in texts:
                _check_names(f"statements.{key}", text, STATEMENTS[key] | {"table"})
        table = content.get("table", "{name}")
        _check_names("table", table, frozenset({"name"}))
        return cls(
            name=content["name"],
            table=table,
            statements=statements,
            packages=_strings("packages", content.get("packages", ())),
            provided_by=content.get("provided_by", ""),
            jars=_strings("jars", content.get("jars", ())),
            extensions=_strings("extensions", content.get("extensions", ())),
            conf={key: str(value) for key, value in content.get("conf", {}).items()},
        )

    def packages_beside(self, jars: Path) -> tuple[str, ...]:
        """Return the packages to fetch for a Spark that has these jars of its own."""
        is_there = self.provided_by and any(jars.glob(self.provided_by))
        return () if is_there else self.packages


def joined_conf(formats: list[TableFormat], jars: Path, warehouse: Path) -> dict[str, str]:
    """Return Spark's configuration for several formats in one session.

    Raises:
        FormatError: Two of them want another value for the same key.
    """
    conf: dict[str, str] = {}
    for one in formats:
        for key, value in one.conf.items():
            said = value.replace("{warehouse}", str(warehouse))
            if conf.setdefault(key, said) != said:
                raise FormatError(f"{one.name}: {key} is {conf[key]!r} for another format")
    lists = {
        "spark.sql.extensions": [x for one in formats for x in one.extensions],
        "spark.jars.packages": [x for one in formats for x in one.packages_beside(jars)],
        "spark.jars": [x for one in formats for x in one.jars],
    }
    conf.update({key: ",".join(dict.fromkeys(found)) for key, found in lists.items() if found})
    return conf


def _strings(key: str, value: Any) -> tuple[str, ...]:
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(one, str) and one for one in values):
        raise FormatError(f"`{key}` must be text or a list of texts")
    return values


def _check_names(key: str, text: str, known: frozenset[str]) -> None:
    try:
        used = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise FormatError(f"`{key}`: {error}") from error
    if unknown := used - known:
        names = ", ".join(sorted(f"{{{name}}}" for name in unknown))
        raise FormatError(f"`{key}` uses {names}; it may use {', '.join(sorted(known))}")
