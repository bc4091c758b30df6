"""Goal: the last submission of a table counts, whoever writes it, and what is done is gone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from table_store.catalog.meta_service.submitted_jobs import (
    HostedJob,
    Order,
    Submission,
    SubmittedJobs,
)
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import CorruptFileError


@pytest.fixture
def jobs(tmp_path: Path) -> SubmittedJobs:
    return SubmittedJobs(LocalFileIO(str(tmp_path)), str(tmp_path))


def test_the_last_one_counts(jobs: SubmittedJobs) -> None:
    run = jobs.submit(Submission(sink="/a", listed="job"))
    stop = jobs.submit(Submission(sink="/a", listed="job", order=Order.STOP, reason="why"))
    other = jobs.submit(Submission(sink="/b", listed="other"))
    assert (run.number, stop.number, other.number) == (1, 2, 1)
    assert jobs.numbers() == {run.digest: 2, other.digest: 1}
    assert sorted(jobs.all(), key=lambda one: one.sink) == [stop, other]
    assert jobs.get(run.digest, 1) is None, "what no longer counts is removed"
    jobs.remove(run)
    assert jobs.get(stop.digest, 2) == stop, "a later one stays"
    jobs.remove(stop)
    assert jobs.all() == [other]


def test_all_of_many_are_counted(jobs: SubmittedJobs) -> None:
    with ThreadPoolExecutor(8) as pool:
        wanted = [Submission(sink="/a", listed=str(at)) for at in range(40)]
        done = list(pool.map(jobs.submit, wanted))
    assert len({one.number for one in done}) == 40
    assert jobs.all() == [max(done, key=lambda one: one.number)]


def test_status(jobs: SubmittedJobs, tmp_path: Path) -> None:
    assert not jobs.status()
    told = {"0123": HostedJob(listed="how it is", number=7)}
    jobs.tell(told)
    assert jobs.status() == told
    path = tmp_path / "_runner" / "status"
    path.write_bytes(path.read_bytes().replace(b"how", b"who"))
    with pytest.raises(CorruptFileError, match="_runner/status"):
        jobs.status()


def test_a_damaged_submission(jobs: SubmittedJobs, tmp_path: Path) -> None:
    one = jobs.submit(Submission(sink="/a", listed="job"))
    (path,) = (tmp_path / "_runner" / "jobs").iterdir()
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(CorruptFileError, match=path.name):
        jobs.get(one.digest, one.number)
