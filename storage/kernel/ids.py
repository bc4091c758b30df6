"""Unique names as a parameter, so that tests choose them."""

from __future__ import annotations

import uuid
from typing import Protocol


class IdSource(Protocol):
    """Makes strings that nobody else gets."""

    def unique(self) -> str:
        """Return a new string of letters, digits and hyphens, unique over all machines."""
        ...


class RandomIds:
    """Random UUIDs (version 4)."""

    def unique(self) -> str:
        """Return a new UUID in its 36-character form."""
        return str(uuid.uuid4())
