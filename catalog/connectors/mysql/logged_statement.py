"""What a statement that stands in a binlog as text does to a table's rows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from table_store.catalog.connectors.mysql.table_names import TableNames

# What stands in a comment with an exclamation mark is run, by servers from a version on.
_COMMENT: Final = re.compile(r"/\*(?!!|M!).*?\*/|/\*M?!\d*|\*/|(?:--\s|#)[^\n]*", re.DOTALL)
_NAME: Final = re.compile(r"(?:(`(?:[^`]|``)*`|\w+)\s*\.\s*)?(`(?:[^`]|``)*`|\w+)")
_ENDS_ROWS: Final = (
    ["drop", "table"],
    ["drop", "tables"],
    ["rename", "table"],
    ["rename", "tables"],
)
_MANNERS: Final = frozenset(("ignore", "offline", "online"))
"""What may stand between ALTER and TABLE."""
_REPLACES: Final = ["create", "or", "replace"]
_CHANGES_ROWS: Final = frozenset(("delete", "insert", "load", "replace", "update", "with"))


def what_it_does(statement: str, current: str, tables: TableNames) -> str | None:
    """Return what a statement of the log does to rows of tables without saying to which.

    None if it does nothing to them. A text in a statement that changes rows may be taken for the
    name of a table.

    Args:
        statement: its text.
        current: the database for names without one.
        tables: whose rows.
    """
    found = [
        tuple((part or "").strip("`").replace("``", "`").lower() for part in match.groups())
        for match in _NAME.finditer(_COMMENT.sub(" ", statement))
    ]
    words = [name for _, name in found]
    while words[:1] == ["alter"] and words[1:2] and words[1] in _MANNERS:
        del words[1]
    if words[:2] in (["drop", "database"], ["drop", "schema"]):
        dropped = [word for word in words[2:] if tables.may_have_of(word)]
        return f"{dropped[-1]} was dropped" if dropped else None
    if not any(tables.may_have(of or current.lower(), word) for of, word in found[1:]):
        return None
    if words[0] in _CHANGES_ROWS:
        return "it was changed by a statement that the binlog has as text, not as rows,"
    ends = words[:2] in _ENDS_ROWS or words[0] == "truncate" or words[:3] == _REPLACES
    ends |= words[:2] == ["alter", "table"] and any(map(_ends_rows, pairwise(words[2:])))
    return f"{words[0].upper()} has emptied or replaced it" if ends else None


def _ends_rows(part: tuple[str, str]) -> bool:
    """Whether two words of an ALTER TABLE take rows away, or another name."""
    word, following = part
    if word == "rename":
        return following not in ("column", "index", "key")
    if following == "tablespace":
        return word in ("discard", "import")
    return following == "partition" and word in ("convert", "drop", "exchange", "truncate")
