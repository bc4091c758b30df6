"""Rows as part of an answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowRows:
    """Arrow IPC streams in base64, each with some of the rows; if compressed, then with zstd."""

    arrow: tuple[str, ...]
    is_compressed: bool
