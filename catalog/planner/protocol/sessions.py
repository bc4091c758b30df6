"""Requests about sessions."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class EndSession:
    """The session has ended, while its JVM goes on."""
