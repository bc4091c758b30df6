"""A table's name in a text of a program or of a procedure's call: `t`, `ns.t`, `catalog.ns.t`."""

from __future__ import annotations

import re
from typing import Final

from table_store.catalog.errors import InvalidIdentifierError
from table_store.catalog.names.identifier import Identifier, unquoted
from table_store.storage.kernel.valid_text import is_valid_text

_PART: Final = re.compile(r"\s*(`(?:[^`]|``)+`|[^`.\s]+)\s*(\.|$)")


def parse_table_name(text: str, *, catalog: str | None, namespace: str) -> Identifier:
    """Return the table that a text names; its parts may be in back-ticks.

    Args:
        text: one to three parts.
        catalog: whose procedure was called; the text may name no other catalog, and none at all if
            this is None.
        namespace: of the table, unless the text names another one.

    Raises:
        InvalidIdentifierError: it is no name, or that of another catalog's table.
    """
    if not is_valid_text(text):
        reason = "it holds half of a character (a lone surrogate)"
        raise InvalidIdentifierError(kind="table", name=text, reason=reason)
    parts = _parts(text)
    if len(parts) == 3 and catalog is not None:
        if parts[0].lower() == catalog.lower():
            return Identifier(parts[1], parts[2])
        reason = f"the procedure belongs to catalog {catalog!r}; call that of {parts[0]!r}"
        raise InvalidIdentifierError(kind="table", name=text, reason=reason)
    if len(parts) not in (1, 2):
        raise InvalidIdentifierError(kind="table", name=text, reason="say table or namespace.table")
    return Identifier(parts[0] if len(parts) == 2 else namespace, parts[-1])


def _parts(text: str) -> list[str]:
    parts: list[str] = []
    position = 0
    while position < len(text) or not parts:
        found = _PART.match(text, position)
        if found is None:
            raise InvalidIdentifierError(
                kind="table", name=text, reason="say table or namespace.table, in back-ticks if odd"
            )
        parts.append(unquoted(found[1]))
        position = found.end()
        if found[2] == ".":
            continue
        break
    if text.rstrip().endswith(".") or position < len(text):
        raise InvalidIdentifierError(kind="table", name=text, reason="a part is missing")
    return parts
