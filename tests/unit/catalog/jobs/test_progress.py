"""Goal: a view's progress comes back as it was; a newer one is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.jobs.progress import (
    BARRIERS_KEPT,
    PROGRESS_VERSION,
    Followed,
    Progress,
    SinkState,
    Taken,
    Track,
    read_progress,
    write_progress,
)
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.checked_json import to_checked_json
from table_store.storage.kernel.errors import FormatVersionError

PROGRESS = Progress(
    barrier=1_790_000_000_000,
    followed=Followed(
        sources={"/w/default.db/a": 7, "/w/default.db/ü": 0},
        created={"/w/default.db/a": 1_770_000_000_000, "/w/default.db/ü": 5},
        plan="5e1f",
        states={3: 12, 0: 0},
        are_groups_dear=True,
        emitted_ms=-5,
    ),
    sink=SinkState(commit=1_780_000_000_000, rollback=3),
    track=Track(
        (
            Taken(barrier=1, snapshot=0, sources={"/w/default.db/a": 1, "/w/default.db/ü": 2}),
            Taken(barrier=5, snapshot=3, sources={"/w/default.db/a": 7, "/w/default.db/ü": 0}),
        )
    ),
)


def test_progress_comes_back(tmp_path: Path) -> None:
    file_io = file_io_for(str(tmp_path))
    assert read_progress(file_io, str(tmp_path)) is None
    write_progress(file_io, str(tmp_path), PROGRESS)
    assert read_progress(file_io, str(tmp_path)) == PROGRESS


def test_each_job_has_its_own(tmp_path: Path) -> None:
    file_io = file_io_for(str(tmp_path))
    write_progress(file_io, str(tmp_path), PROGRESS, "insert:a/b:1")
    assert read_progress(file_io, str(tmp_path), "insert:a/b:1") == PROGRESS
    assert read_progress(file_io, str(tmp_path), "insert:a/b:2") is None
    assert read_progress(file_io, str(tmp_path)) is None


def test_a_track_has_the_last_barriers_over_the_same_tables() -> None:
    track = Track()
    for barrier in range(1, BARRIERS_KEPT + 3):
        track = track.extended(Taken(barrier=barrier * 10, snapshot=barrier, sources={"/a": 1}))
    assert len(track.taken) == BARRIERS_KEPT
    assert track.last_until(29) is None
    for barrier, snapshot in ((30, 3), (39, 3), (40, 4), (10_000, BARRIERS_KEPT + 2)):
        found = track.last_until(barrier)
        assert found is not None
        assert found.snapshot == snapshot
    other = Taken(barrier=5_000, snapshot=9, sources={"/a": 1, "/b": 1})
    assert track.extended(other).taken == (other,)


def test_progress_goes_on_from_the_same_tables_alone() -> None:
    last = PROGRESS.track.taken
    again = replace(PROGRESS, barrier=9).after(PROGRESS, snapshot=4)
    assert again.track.taken[: len(last)] == last
    assert again.track.taken[-1].barrier == 9
    made_anew = replace(
        PROGRESS.followed, created={**PROGRESS.followed.created, "/w/default.db/a": 1}
    )
    first = replace(PROGRESS, barrier=9, followed=made_anew).after(PROGRESS, snapshot=4)
    assert [taken.barrier for taken in first.track.taken] == [9]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    newer = to_checked_json({"barrier": 1}, version=PROGRESS_VERSION + 1)
    (tmp_path / "job" / "PROGRESS").write_bytes(newer)
    with pytest.raises(FormatVersionError):
        read_progress(file_io_for(str(tmp_path)), str(tmp_path))
