"""Texts that Scala and Python must have in common: each stands once, in a file that both read.

The jar of the bridge has the same files (`process/SharedText.scala`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).resolve().parent / "resources"


def shared_pattern(name: str) -> str:
    """Return a regular expression, whose lines in the file are one text."""
    return "".join(_text(f"{name}.regex").splitlines())


def shared_name(key: str) -> str:
    """Return what both sides call something."""
    return _NAMES[key]


def _text(file: str) -> str:
    return (_FOLDER / file).read_text(encoding="utf-8")


_NAMES: Final = dict(
    line.split("=", 1)
    for line in _text("names.properties").splitlines()
    if line and not line.startswith("#")
)
