"""Goal: who waits for a job gives up when it fails, and not when others were faster once."""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.job_errors import TransactionOpenError
from table_store.catalog.jobs.job_status import JobStatus
from table_store.catalog.planner.jobs.hosted_jobs import fails
from table_store.storage.file_store.model.errors import CommitConflictError, TableMovedError
from table_store.storage.kernel.errors import InvalidOptionError, TableStoreError

RACE = CommitConflictError(table="t", snapshot_id=3, operation="INSERT", reason="it came first")
MOVED = TableMovedError(table="t", location="t~1")
OPEN = TransactionOpenError(reason="a producer is within one")
WRONG = InvalidOptionError(key="k", value="v", reason="no such value")


@pytest.mark.parametrize(
    ("error", "failures", "expected"),
    [(RACE, 1, False), (MOVED, 1, False), (OPEN, 0, False), (WRONG, 1, True), (None, 0, False)],
)
def test_what_passes_by_itself_is_no_failure(
    error: TableStoreError | None, failures: int, *, expected: bool
) -> None:
    text = None if error is None else str(error)
    assert fails(JobStatus(started_ms=0, failures=failures, error=text)) is expected
