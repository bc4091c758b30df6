"""The scripts of the demo that a page shows."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from page_writers.marked_part import MarkedPart

SCRIPTS: Final = ("warehouse.sql", "warehouse_queries.sql")
_DEMO = Path(__file__).resolve().parents[1] / "demo"


def with_scripts(page: str) -> str:
    """Return the page with each script as a block, between the lines that name it.

    Raises:
        ValueError: the page has no place for one.
    """
    for name in SCRIPTS:
        script = (_DEMO / name).read_text(encoding="utf-8")
        page = MarkedPart(name).replaced(page, f"```sql\n{script}```")
    return page
