"""Names of tables and namespaces, and their file names.

Names are compared without case, as Spark does by default, and kept as they were written. A file
name is made from the lower-case name: allowed characters stay and every other byte is
percent-encoded. So no name can leave its directory or equal one of the warehouse's own entries,
which begin with an underscore or a dot, and no two file names differ only in case.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass

from table_store.catalog.errors import InvalidIdentifierError

DEFAULT_NAMESPACE = "default"
"""The namespace that exists in every warehouse without being created."""

SYSTEM_TABLE_SEPARATOR = "$"
"""Stands between a table and its system table: `t$snapshots`."""

NAME_LENGTH_MAX = 255
"""In characters, as many as Hive's metastore and most JDBC clients take."""

# A file name may have 255 bytes on the usual file systems; a suffix and `.json` must fit.
_FILE_NAME_BYTES_MAX = 200
_KEPT_BYTES = 120

_PLAIN = re.compile(rb"[A-Za-z0-9_.-]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def name_key(name: str) -> str:
    """Return the form that all spellings of a name share: lower case, as in Spark."""
    return name.lower()


@dataclass(frozen=True, slots=True)
class Identifier:
    """A table, view or foreign table as the user wrote it, in a namespace of one level."""

    namespace: str
    name: str

    @property
    def key(self) -> tuple[str, str]:
        """The pair that all spellings of an identifier share."""
        return (name_key(self.namespace), name_key(self.name))

    @property
    def text(self) -> str:
        """The name for people, who are not confused by a dot in it."""
        return f"{self.namespace}.{self.name}"

    def __str__(self) -> str:
        return f"{quoted(self.namespace)}.{quoted(self.name)}"


def quoted(name: str) -> str:
    """Return `name` in back-ticks, as Spark shows identifiers and takes any name."""
    return "`" + name.replace("`", "``") + "`"


def quoted_parts(parts: Iterable[str]) -> str:
    """Return a name of several parts, each in back-ticks."""
    return ".".join(quoted(part) for part in parts)


def unquoted(text: str) -> str:
    """Return the name that `text` is, with or without back-ticks."""
    return text[1:-1].replace("``", "`") if text.startswith("`") else text


def check_namespace_name(name: str) -> None:
    """Return quietly if a namespace may be called `name`.

    Raises:
        InvalidIdentifierError: it is empty, too long, or has characters nobody could type.
    """
    _check("namespace", name)


def check_table_name(name: str) -> None:
    """Return quietly if a table, view or foreign table may be called `name`.

    Raises:
        InvalidIdentifierError: as for a namespace, or the name has the separator of system
            tables in it.
    """
    _check("table", name)
    if SYSTEM_TABLE_SEPARATOR in name:
        raise InvalidIdentifierError(
            kind="table",
            name=name,
            reason=f"`{SYSTEM_TABLE_SEPARATOR}` stands between a table and its system table",
        )


def file_name_of(name: str) -> str:
    """Return the one file name of every spelling of `name`.

    Letters, digits, `_`, `-` and `.` stay, except `_` and `.` in front, with which the
    warehouse's own entries begin. Other UTF-8 bytes become `%XX`. A name that would be too long
    for a file system is cut and gets `~` and a hash of the whole name. Nothing else makes a `~`, so
    a cut name equals no other.
    """
    encoded = _percent_encoded(name_key(name))
    if len(encoded) <= _FILE_NAME_BYTES_MAX:
        return encoded
    digest = hashlib.sha256(name_key(name).encode()).hexdigest()[:32]
    kept = encoded[:_KEPT_BYTES]
    # A cut escape is removed, because a person would read something else in it.
    kept = re.sub(r"%[0-9A-F]?$", "", kept)
    return f"{kept}~{digest}"


def _percent_encoded(text: str) -> str:
    parts: list[str] = []
    for position, byte in enumerate(text.encode("utf-8")):
        plain = _PLAIN.fullmatch(bytes((byte,))) is not None
        leading_reserved = position == 0 and byte in b"._"
        parts.append(chr(byte) if plain and not leading_reserved else f"%{byte:02X}")
    return "".join(parts)


def _check(kind: str, name: str) -> None:
    if not name.strip():
        raise InvalidIdentifierError(kind=kind, name=name, reason="it is empty")
    if len(name) > NAME_LENGTH_MAX:
        raise InvalidIdentifierError(
            kind=kind,
            name=name,
            reason=f"it has {len(name)} characters and at most {NAME_LENGTH_MAX} can be kept",
        )
    if _CONTROL.search(name):
        raise InvalidIdentifierError(
            kind=kind,
            name=name,
            reason="it holds a line break or another control character",
        )
    if any(0xD800 <= ord(character) <= 0xDFFF for character in name):
        raise InvalidIdentifierError(
            kind=kind,
            name=name,
            reason="it holds half of a character (a lone surrogate)",
        )
