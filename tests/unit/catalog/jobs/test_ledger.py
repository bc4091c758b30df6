"""Goal: whatever stops a cut, the ledger goes on, and what was cut before stays as it was.

Each run has one fault at the n-th file operation of a cut, for n = 1, 2, … until it is not reached.
"""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from table_store.catalog.jobs.ledger import Head, Ledger
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import CorruptFileError, FileAccessError
from tests.fakes.counting_ids import CountingIds
from tests.fakes.failing_file_io import FailingFileIO, Fault, Killed


def _head(snapshot: int) -> Head:
    return Head(snapshot=snapshot, created_ms=5)


FAULTS = [fault for fault in Fault if fault is not Fault.ERROR_FOREVER]


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("before", [0, 1, 3])
def test_the_ledger_goes_on(tmp_path: Path, fault: Fault, before: int) -> None:
    for at in count(1):
        root = str(tmp_path / str(at))
        ids = CountingIds()
        ledger = Ledger(LocalFileIO(root), root, ids, records_kept=3)
        done = [ledger.cut(9, lambda n=n: {"/a": _head(n)}) for n in range(before)]  # type: ignore[misc]
        failing = FailingFileIO(LocalFileIO(root), at, fault)
        dying = Ledger(failing, root, ids, records_kept=3)
        cut = None
        try:
            cut = dying.cut(9, lambda: {"/a": _head(before)})
        except (Killed, FileAccessError):
            assert failing.reached
        if fault is Fault.LATE and failing.reached:
            failing.land()
        after = ledger.cut(9, lambda: {"/b": _head(1)})
        known = [*done, *([] if cut is None else [cut]), after]
        assert [barrier.number for barrier in known] == sorted({b.number for b in known})
        assert after.snapshots.get("/a", 0) >= max(
            (b.snapshots["/a"] for b in known[:-1]), default=0
        )
        assert ledger.latest() == after
        assert (
            ledger.get(known[-2].number) == known[-2] if cut else ledger.get(after.number) == after
        )
        if not failing.reached:
            return


def test_a_damaged_record_is_named_and_can_be_deleted(tmp_path: Path) -> None:
    ledger = Ledger(LocalFileIO(str(tmp_path)), str(tmp_path), CountingIds())
    first = ledger.cut(100, lambda: {"/a": _head(1)})
    ledger.cut(200, lambda: {"/a": _head(2)})
    path = tmp_path / "_barriers" / f"{2:012d}"
    path.write_bytes(path.read_bytes()[:-40])
    for read in (ledger.latest, lambda: ledger.cut(300, dict), lambda: ledger.get(200)):
        with pytest.raises(CorruptFileError, match=r"_barriers/000000000002.*or delete it"):
            read()
    path.unlink()
    third = ledger.cut(300, lambda: {"/a": _head(3)})
    assert (third.number, third.previous, third.snapshots) == (300, first.id, {"/a": 3})
