"""Goal: options of a streaming INSERT are checked before its job begins."""

from __future__ import annotations

import pytest

from table_store.catalog.jobs.sink_options import check_options
from table_store.catalog.planner.jobs.job_requests import start_job
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.jobs import StartJob
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from tests.unit.catalog.planner.keyed_table import session_without_spark
from tests.unit.catalog.planner.references import reference


def test_options_of_a_job() -> None:
    check_options({})
    check_options({"sink.emit": "on-watermark", "mergeSchema": "true"})
    with pytest.raises(UnknownOptionError, match=r"Did you mean 'sink\.emit'"):
        check_options({"sink.emt": "on-watermark"})
    for wrong in ({"sink.emit": "sometimes"}, {"bucket": "2"}):
        with pytest.raises(InvalidOptionError):
            check_options(wrong)


def test_a_job_begins_with_options_that_there_are() -> None:
    request = StartJob(
        table=reference(TableHandle(path="/t", schema_id=0, snapshot_id=None)),
        insert=StoredQuery(
            text="INSERT INTO t SELECT 1",
            current_catalog="c",
            current_namespace=("default",),
            settings={},
        ),
        options={"sink.emt": "on-watermark"},
        is_server=False,
    )
    with pytest.raises(UnknownOptionError):
        start_job(session_without_spark("options"), request)
