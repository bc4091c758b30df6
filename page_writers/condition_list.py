"""The list of error conditions in docs/operations.md: facts from the code, paragraphs by people."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from page_writers.conditions import Condition
from page_writers.marked_part import MarkedPart

PART = MarkedPart("conditions")
_SECTION = re.compile(
    r"^### (\w+)\n\n\*SQLSTATE[^\n]*\n(.*?)(?=^### |\Z)", re.DOTALL | re.MULTILINE
)


def with_conditions(page: str, conditions: Iterable[Condition]) -> str:
    """Return the page with a section for each condition, and the paragraph that it had."""
    paragraphs = paragraphs_of(page)
    sections = [_section(c, paragraphs.get(c.name, "")) for c in conditions]
    return PART.replaced(page, "\n".join(sections))


def paragraphs_of(page: str) -> Mapping[str, str]:
    """Return what the page says about each condition."""
    return {name: text.strip() for name, text in _SECTION.findall(PART.of(page))}


def _section(condition: Condition, paragraph: str) -> str:
    facts = f"*SQLSTATE {condition.sql_state}{' · may be run again' * condition.is_retriable}*"
    first = " ".join(part for part in (facts, condition.summary) if part)
    parts = (f"### {condition.name}", first, paragraph)
    return "\n\n".join(part for part in parts if part) + "\n"
