"""`python -m page_writers`: write into the documents what stands in the code.

These are the options, the error conditions, the rooms and the scripts of a demo. This folder is no
part of the package and may import all of it.
"""

from __future__ import annotations

import sys
from pathlib import Path

from page_writers.condition_list import paragraphs_of, with_conditions
from page_writers.conditions import all_conditions
from page_writers.marked_part import MarkedPart
from page_writers.rooms import room_graph, room_lines
from page_writers.scripts import with_scripts
from table_store.storage.options.option_table import option_table

_DOCS = Path(__file__).resolve().parents[1] / "docs"


def main() -> int:
    """Write all parts; 1 where a condition has no paragraph."""
    options, operations, contributing, warehouse = (
        _DOCS / f"{name}.md" for name in ("options", "operations", "contributing", "warehouse")
    )
    _write(options, MarkedPart("options").replaced(_read(options), option_table()))
    _write(operations, with_conditions(_read(operations), all_conditions()))
    rooms = f"```text\n{room_lines(room_graph())}```"
    _write(contributing, MarkedPart("rooms").replaced(_read(contributing), rooms))
    _write(warehouse, with_scripts(_read(warehouse)))
    silent = [name for name, text in paragraphs_of(_read(operations)).items() if not text]
    for name in silent:
        sys.stderr.write(f"docs/operations.md: say what to do at {name}\n")
    return 1 if silent else 0


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _write(path: Path, text: str) -> None:
    if _read(path) != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
