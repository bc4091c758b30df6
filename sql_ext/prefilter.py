"""A cheap test that finds the few statements which need the planner.

The bridge reads this very pattern from `catalog/bridge/resources`, and asks the planner only about
statements in which it is found, so it must find everything that `parse_statement` reads, and little
else. It uses only what the regular expressions of Java and Python have in common, and takes time
linear in the statement. Behind a comment or EXPLAIN the first word may stand anywhere, because
comments nest, which no pattern can follow.
"""

from __future__ import annotations

import re
from typing import Final

from table_store.catalog.bridge.shared_text import shared_pattern

MAYBE_OURS: Final = shared_pattern("maybe_ours")

_PATTERN = re.compile(MAYBE_OURS)


def is_maybe_ours(sql: str) -> bool:
    """Whether the pattern is found; if not, `parse_statement` returns None."""
    return _PATTERN.search(sql) is not None
