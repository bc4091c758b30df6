"""The metadata column of a table without key; a module of its own, as workers import it."""

from __future__ import annotations

from typing import Final

ROW_COLUMN: Final = "_row"
"""The whole row, by which a delete identifies its row."""
