"""The text of a file of SQL, none of whose strings holds a semicolon at the end of a line."""

from __future__ import annotations


def statements(text: str) -> list[str]:
    """Return the statements in their order, without semicolons and lines that are comments."""
    found = []
    for statement in text.split(";\n"):
        lines = [line for line in statement.splitlines() if not line.startswith("--")]
        if kept := "\n".join(lines).strip():
            found.append(kept)
    return found
