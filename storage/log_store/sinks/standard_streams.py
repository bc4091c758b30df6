"""Standard output and standard error of the program whose rows are printed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

Write: TypeAlias = Callable[[str], None]


@dataclass(slots=True)
class StandardStreams:
    """Where text goes; a planner leads both to the streams of its driver."""

    output: Write
    error: Write


def _write_output(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _write_error(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


STREAMS = StandardStreams(output=_write_output, error=_write_error)
"""Those of this process, unless they have been led elsewhere."""
