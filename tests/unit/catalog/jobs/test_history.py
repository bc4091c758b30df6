"""Goal: the last epochs of all jobs of a table come back in their order; the file stays small."""

from __future__ import annotations

from pathlib import Path

from table_store.catalog.jobs.history import (
    EPOCHS_KEPT,
    EpochRecord,
    add_to_history,
    read_histories,
    short_error,
)
from table_store.catalog.jobs.progress import JOB_OF_VIEW
from table_store.storage.file_io.resolve import file_io_for

INSERT = "insert:a/b:1"


def epoch(number: int, error: str | None = None) -> EpochRecord:
    return EpochRecord(
        ended_ms=number,
        job="",
        barrier=number,
        rule=None if error else "incremental",
        reason=None if error else "changed: a",
        rows_read=7,
        rows_changed=3,
        milliseconds=20,
        error=error,
    )


def test_epochs_come_back_in_order(tmp_path: Path) -> None:
    file_io = file_io_for(str(tmp_path))
    assert read_histories(file_io, str(tmp_path)) == ()
    for number in range(4):
        job = INSERT if number % 2 else JOB_OF_VIEW
        add_to_history(file_io, str(tmp_path), job, epoch(number, "ö" if number == 2 else None))
    found = read_histories(file_io, str(tmp_path))
    assert found == (epoch(0), epoch(1), epoch(2, "ö"), epoch(3))


def test_old_epochs_are_forgotten(tmp_path: Path) -> None:
    file_io = file_io_for(str(tmp_path))
    for number in range(EPOCHS_KEPT + 3):
        add_to_history(file_io, str(tmp_path), INSERT, epoch(number, short_error("x" * 9_000)))
    found = read_histories(file_io, str(tmp_path))
    assert [one.barrier for one in found] == list(range(3, EPOCHS_KEPT + 3))
    (path,) = (tmp_path / "job").iterdir()
    assert path.stat().st_size < 300_000


def test_what_is_told_of_an_error() -> None:
    said = "[CHECK_CONSTRAINT_VIOLATION] CHECK constraint c violated by row with values:"
    with_values = f"{said}\n - k : 200\n - v : -1 SQLSTATE: 23001"
    expected = f"{said} k : 200, v : -1 SQLSTATE: 23001"
    assert short_error(with_values) == expected
    assert short_error(f"{with_values}\n\nJVM stacktrace:\n - x", " at") == f"{expected} at"
    assert short_error("first\n\tat second\n - third", " there") == "first there"


def test_a_damaged_file_begins_again(tmp_path: Path) -> None:
    file_io = file_io_for(str(tmp_path))
    add_to_history(file_io, str(tmp_path), JOB_OF_VIEW, epoch(1))
    (tmp_path / "job" / "HISTORY").write_bytes(b"{")
    assert read_histories(file_io, str(tmp_path)) == ()
    add_to_history(file_io, str(tmp_path), JOB_OF_VIEW, epoch(2))
    assert read_histories(file_io, str(tmp_path)) == (epoch(2),)
