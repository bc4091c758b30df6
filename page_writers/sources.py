"""The modules of the package as they lie in the repository."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parents[1]
PACKAGE: Final = "table_store"
HOUSES: Final = ("client", "sql_ext", "catalog", "storage")


def modules() -> Mapping[str, Path]:
    """Return the file of each module, by the name under which it is imported; no packages."""
    found = {}
    for house in (PACKAGE, *HOUSES):
        for path in sorted((REPOSITORY / house).rglob("*.py")):
            if path.name == "__init__.py":
                continue
            parts = path.relative_to(REPOSITORY).with_suffix("").parts
            found[".".join(parts if house == PACKAGE else (PACKAGE, *parts))] = path
    return found
