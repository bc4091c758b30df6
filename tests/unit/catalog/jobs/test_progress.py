"""Goal: a view's progress comes back as it was; a newer one is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store.catalog.jobs.progress import (
    PROGRESS_VERSION,
    Followed,
    Progress,
    SinkState,
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
    ),
    sink=SinkState(commit=1_780_000_000_000, rollback=3),
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


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    (tmp_path / "job").mkdir()
    newer = to_checked_json({"barrier": 1}, version=PROGRESS_VERSION + 1)
    (tmp_path / "job" / "PROGRESS").write_bytes(newer)
    with pytest.raises(FormatVersionError):
        read_progress(file_io_for(str(tmp_path)), str(tmp_path))
