"""Tries cases of techniques, one after the other, until a time or a number is reached."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.campaign.technique import Case, Counts, Technique
from tests.campaign.totals import KEPT_TOTALS, Totals
from tests.checkout import REPOSITORY

_SAID: Final = 3_000
"""Characters of a statement that are printed."""


def run_case(
    technique: Technique, campaign_seed: int, number: int, parent: Path | None = None
) -> Counts:
    """Try one case in a new folder; return what it tried.

    If the case fails, its folder stays, and what it said is printed.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{technique.name}-{number}-", dir=parent))
    case = Case(technique=technique.name, campaign_seed=campaign_seed, number=number, folder=folder)
    try:
        counts = technique.run_case(case)
    except Exception:
        print(*map(_shortened, case.said), sep=";\n")
        raise
    shutil.rmtree(folder, ignore_errors=True)
    return counts


def _shortened(text: str) -> str:
    return text if len(text) <= _SAID else f"{text[:_SAID]}…"


def source_commit() -> str:
    """Return the commit of the sources, marked where they differ from it."""
    commit = _git("rev-parse", "--short=12", "HEAD")
    totals = KEPT_TOTALS.relative_to(REPOSITORY)
    is_dirty = bool(_git("status", "--porcelain", "--untracked-files=no", "--", f":!{totals}"))
    return f"{commit or 'unknown'}{'-dirty' if is_dirty else ''}"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    found = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    return found.stdout.strip()


def _comes_of_a_stop(error: BaseException) -> bool:
    """Whether a case was stopped and then failed to clean up, as Spark does within a call.

    DuckDB tells a stop within a query in words of its own.
    """
    while not isinstance(error, KeyboardInterrupt) and str(error) != "Query interrupted":
        if error.__context__ is None:
            return False
        error = error.__context__
    return True


@dataclass(slots=True, kw_only=True)
class Campaign:
    """A run over techniques with one seed; after a failure a technique is not gone on with.

    `cases` is how many are wanted of each technique, None what a release wants; cases that
    `totals` has seen are not repeated. The run ends before the case that begins after `stop_s` of
    `time.monotonic`.
    """

    techniques: Sequence[Technique]
    seed: int
    totals: Totals
    scripts: Path
    folder: Path | None = None
    cases: int | None = None
    stop_s: float = float("inf")
    commit: str = field(default_factory=source_commit)
    say: Callable[[str], None] = print
    failures: list[Path] = field(default_factory=list)

    def run(self) -> None:
        """Try cases, the technique that is furthest behind first, and add them to the totals."""
        going = list(self.techniques)
        while going and time.monotonic() < self.stop_s:
            technique = min(going, key=self._progress)
            if self._progress(technique) >= 1 or not self._try_next(technique):
                going.remove(technique)

    def _progress(self, technique: Technique) -> float:
        wanted = technique.release_cases if self.cases is None else self.cases
        return self.totals.of(technique.name, self.seed).cases / wanted

    def _try_next(self, technique: Technique) -> bool:
        tried = self.totals.of(technique.name, self.seed)
        try:
            counts = run_case(technique, self.seed, tried.cases, self.folder)
        except Exception as error:  # whatever a case raises is what it has found
            if _comes_of_a_stop(error):
                raise KeyboardInterrupt from error
            self._fail(technique, tried.cases, traceback.format_exc())
            return False
        tried.add(counts, self.commit)
        self.totals.save()
        return True

    def _fail(self, technique: Technique, number: int, error: str) -> None:
        name = f"{technique.name}-{self.seed}-{number}.sh"
        again = f"python -m tests.campaign --only {technique.name} --seed {self.seed}"
        self.scripts.mkdir(parents=True, exist_ok=True)
        told = "".join(f"# {line}\n" for line in error.splitlines())
        script = self.scripts / name
        script.write_text(
            f"#!/bin/sh\n# Failed at commit {self.commit}:\n{told}"
            f"cd '{REPOSITORY}' && exec .venv/bin/{again} --case {number}\n"
        )
        script.chmod(0o755)
        self.failures.append(script)
        self.say(f"{error}\n{technique.name}: case {number} FAILED. To repeat it: {script}")
