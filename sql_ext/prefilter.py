r"""A cheap test that finds the few statements which need the planner.

The bridge has this very pattern and asks the planner only about statements in which it is found, so
it must find everything that `parse_statement` reads, and little else. It uses only what the regular
expressions of Java and Python have in common, and takes time linear in the statement. Behind a
comment or EXPLAIN the first word may stand anywhere, because comments nest, which no pattern can
follow.
"""

from __future__ import annotations

import re

MAYBE_OURS = (
    r"(?is)/\*\+[\s\xa0\u1680\u2000-\u3000]*OPTIONS\b|^[^\w/-]*(?:"
    r"(?:--|/\*|EXPLAIN\b).*\b(?:CREATE|REPLACE|ALTER|DROP|(?:RE)?SET|USE|SHOW|DESC(?:RIBE)?)\b"
    r"|(?:CREATE|REPLACE)\b.*\b(?:TABLE|CATALOG)\b"
    r"|ALTER\b.*\bCOMPACT\b"
    r"|DROP\b.*\bTEMP(?:ORARY)?\b"
    r"|(?:RE)?SET\b(?:[^=]*[-'\x22]|.*/\*)"
    r"|USE\b.*\bCATALOG\b"
    r"|SHOW\b.*\bCREATE\b"
    r"|DESC(?:RIBE)?\b.*\b(?:EXTENDED|FORMATTED)\b)"
)

_PATTERN = re.compile(MAYBE_OURS)


def is_maybe_ours(sql: str) -> bool:
    """Whether the pattern is found; if not, `parse_statement` returns None."""
    return _PATTERN.search(sql) is not None
