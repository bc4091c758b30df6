"""What a statement that stands in a binlog as text does to a table's rows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from table_store.catalog.connectors.mysql.table_names import TableNames

_COMMENT: Final = re.compile(r"/\*(?!!|M!).*?\*/|(?:--\s|#)[^\n]*", re.DOTALL)
_NAME: Final = re.compile(r"(?:(`(?:[^`]|``)*`|\w+)\s*\.\s*)?(`(?:[^`]|``)*`|\w+)")
_ENDS_ROWS: Final = (["drop", "table"], ["rename", "table"])
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
    return following == "partition" and word in ("drop", "exchange", "truncate")
