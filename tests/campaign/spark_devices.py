"""A device that is full, has no place for another file, or takes no writes.

The warehouse lies in a small file system in memory. After a few statements it is filled up to
some last bytes or files, or made read-only. Reads still have to be right; any other statement
succeeds, or names what it could not write and has done nothing. Once there is space again, every
statement succeeds, and no row was lost.
"""

from __future__ import annotations

import errno
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from tests.campaign.sessions.database import Database
from tests.campaign.sessions.ended import Ended, Outcome, check
from tests.campaign.sessions.random_statements import Names, read_all, statement
from tests.campaign.sessions.runner import run
from tests.campaign.sessions.statement import Statement
from tests.campaign.spark_program import session_with_warehouse
from tests.campaign.technique import Case, Counts, Technique

_SIZE: Final = 4 << 20
_FILES: Final = 2_000
_REFUSING: Final = {"TABLE_STORE_FILE_ACCESS"}


@dataclass(frozen=True, slots=True)
class Device:
    """A file system in memory, and ways to make it refuse writes."""

    folder: Path

    def fill(self, left: int) -> None:
        """Leave this many bytes."""
        with (self.folder / "filler").open("wb", buffering=0) as filler:
            chunks = (1 << 16, 1 << 12, 1)
            written = sum(size * _until_full(partial(filler.write, bytes(size))) for size in chunks)
            filler.truncate(max(0, written - left))

    def crowd(self, left: int) -> None:
        """Leave room for this many files."""
        crowd = self.folder / "crowd"
        crowd.mkdir()
        names = count()
        made = _until_full(lambda: (crowd / str(next(names))).touch())
        for number in range(min(left, made)):
            (crowd / str(number)).unlink()

    def protect(self, left: int) -> None:
        """Take no writes."""
        _mount("-o", "remount,ro", str(self.folder))

    def relieve(self) -> None:
        """Be as before."""
        _mount("-o", "remount,rw", str(self.folder))
        (self.folder / "filler").unlink(missing_ok=True)
        for file in (self.folder / "crowd").glob("*"):
            file.unlink()


def run_case(case: Case) -> Counts:
    """Run statements before, while and after the device refuses writes."""
    dice = case.random()
    place = case.folder / "device"
    place.mkdir()
    try:
        _mount("-t", "tmpfs", "-o", f"size={_SIZE},nr_inodes={_FILES}", "tmpfs", str(place))
    except PermissionError:
        return {"cases skipped, since this account may not mount": 1}
    try:
        session = session_with_warehouse(f"d{case.campaign_seed}_{case.number}", place / "w")
        return _on_device(dice, session, Device(place), case.folder)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def _on_device(dice: random.Random, session: SparkSession, device: Device, folder: Path) -> Counts:
    names = Names.drawn(dice, "t")
    rows = names.first_rows(dice)
    for sql in names.beginning(rows):
        session.sql(sql)

    def some(count: int) -> list[Statement]:
        return [statement(dice, names, ("columns", "names")) for _ in range(count)]

    both = [read_all(names.table), read_all(names.other)]
    ended = [run(session, one, folder) for one in some(3)]
    trouble = dice.choice([device.fill, device.fill, device.crowd, device.protect])
    trouble(dice.choice([0, 0, 1, 3, 4096, 16384]))
    for one in [*some(7), *both]:
        refusing = () if one.reads else _REFUSING
        ended.append(run(session, one, folder, refusing=refusing))
        _check_refusal(ended[-1], device)
    device.relieve()
    ended += [run(session, one, folder) for one in [*both, *some(4), *both]]
    for each in (names.table, names.other):
        if ended[-1].outcome is Outcome.DONE:
            clean = f"CALL sys.remove_orphan_files(table => '{each}')"
            ended.append(run(session, _unchanging(clean, each), folder))
    ended += [run(session, one, folder) for one in both]
    start = Database().creating(names.table, names.created().adding(rows))
    counts = check(start, ended)
    return {f"devices: {trouble.__name__}": 1, **counts}


def _unchanging(sql: str, name: str) -> Statement:
    return Statement(sql=sql, name=name, changes=(lambda table: table,))


def _check_refusal(ended: Ended, device: Device) -> None:
    if ended.outcome is Outcome.REFUSED and str(device.folder) not in ended.said:
        raise AssertionError(f"{ended.statement.sql}\ndoes not name the file:\n{ended.said}")


def _until_full(write: Callable[[], object]) -> int:
    """Write until there is no space; return how often that went."""
    done = 0
    try:
        while True:
            write()
            done += 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
    return done


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise PermissionError(done.stderr)


SPARK_DEVICES: Final = Technique(
    name="spark-devices",
    goal="a full or read-only device: reads are right, all else fails by name or succeeds",
    suite_cases=3,
    release_cases=100,
    run_case=run_case,
    needs_spark=True,
)
