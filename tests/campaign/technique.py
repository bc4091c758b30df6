"""One way to make a table fail, and the cases that try it."""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Counts: TypeAlias = Mapping[str, int]
"""What a case tried, by a plural noun, such as `commits` or `power cuts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One try; number and campaign seed decide all that is random in it.

    A technique that tries everything takes the case's number as the place in its list, and
    begins again behind the end, with other random rows.

    Attributes:
        said: the statements so far and what decided them; printed if the case fails.
    """

    technique: str
    campaign_seed: int
    number: int
    folder: Path
    said: list[str] = field(default_factory=list)

    @property
    def seed(self) -> int:
        """The seed of this case, unlike that of any other."""
        return zlib.crc32(f"{self.technique} {self.campaign_seed} {self.number}".encode())

    def random(self) -> random.Random:
        """Return the case's source of chance, at its beginning."""
        return random.Random(self.seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class Technique:
    """A kind of fault.

    `run_case` uses the case's empty folder, raises what is wrong (any exception is a failure),
    and returns what it has tried. The suite tries `suite_cases`, a release `release_cases`.
    """

    name: str
    goal: str
    suite_cases: int
    release_cases: int
    run_case: Callable[[Case], Counts]
    needs_spark: bool = False
