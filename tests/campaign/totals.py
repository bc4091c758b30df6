"""What a campaign has tried so far, in a file, so that a stopped one goes on where it was.

That file is committed: a campaign of many hours goes on in other checkouts and on other days, and
tells with which sources it was.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.campaign.technique import Counts
from tests.checkout import REPOSITORY

KEPT_TOTALS: Final = REPOSITORY / "docs" / "campaign.json"
"""The file of the campaign that is committed."""


@dataclass(slots=True)
class Tried:
    """The cases 0 to `cases` - 1 of one technique and seed, all of which held."""

    cases: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    commits: list[str] = field(default_factory=list)

    def add(self, counts: Counts, commit: str) -> None:
        """Add the next case, tried with the sources of a commit."""
        self.cases += 1
        self.counts.update(counts)
        if commit not in self.commits:
            self.commits.append(commit)


@dataclass(slots=True)
class Totals:
    """What was tried, by technique and seed. One process at a time uses one file."""

    path: Path
    tried: dict[tuple[str, int], Tried] = field(default_factory=dict)

    @staticmethod
    def load(path: Path) -> Totals:
        """Return what a file holds; nothing where it is not there."""
        totals = Totals(path)
        for item in json.loads(path.read_text()) if path.exists() else []:
            totals.tried[item["technique"], item["seed"]] = Tried(
                cases=item["cases"], counts=Counter(item["counts"]), commits=item["commits"]
            )
        return totals

    def of(self, technique: str, seed: int) -> Tried:
        """Return what was tried of one technique with one seed."""
        return self.tried.setdefault((technique, seed), Tried())

    def save(self) -> None:
        """Replace the file in one step."""
        items = [
            {
                "technique": technique,
                "seed": seed,
                "cases": tried.cases,
                "counts": dict(sorted(tried.counts.items())),
                "commits": tried.commits,
            }
            for (technique, seed), tried in sorted(self.tried.items())
        ]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f"{self.path.name}.tmp")
        temporary.write_text(json.dumps(items, indent=1) + "\n")
        os.replace(temporary, self.path)

    def lines(self) -> list[str]:
        """Return for people, by technique over all seeds, what was tried."""
        lines = []
        for name in sorted({technique for technique, _ in self.tried}):
            every = [tried for (technique, _), tried in self.tried.items() if technique == name]
            counts: Counter[str] = sum((tried.counts for tried in every), Counter())
            told = ", ".join(f"{count:,} {noun}" for noun, count in sorted(counts.items()))
            commits = {commit for tried in every for commit in tried.commits}
            lines.append(
                f"{name}: {sum(tried.cases for tried in every):,} cases of {len(every)} seeds, "
                f"{told}; commits {', '.join(sorted(commits))}"
            )
        return lines
