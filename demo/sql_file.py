"""A file of SQL statements, none of whose texts holds a semicolon at the end of a line."""

from __future__ import annotations

from pathlib import Path


def statements(file: Path) -> list[str]:
    """Return the statements in their order, without semicolons and lines that are comments."""
    found = []
    for statement in file.read_text(encoding="utf-8").split(";\n"):
        lines = [line for line in statement.splitlines() if not line.startswith("--")]
        if text := "\n".join(lines).strip():
            found.append(text)
    return found
