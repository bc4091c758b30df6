"""Goal: options of a stream that Spark evaluates itself are none of a write."""

from __future__ import annotations

import pytest

from table_store.catalog.planner.protocol.stream_writes import RunningQuery, StreamBatch
from table_store.catalog.planner.write.stream_commit import stream_write_options
from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError

BATCH = StreamBatch(query=RunningQuery(query="q", run="r", running=()), batch=3, offsets={})


@pytest.mark.parametrize("key", ["queryName", "checkpointLocation", "path"])
def test_what_spark_evaluates(key: str) -> None:
    options = stream_write_options({key: "x", "change-tracking": "false"}, BATCH)
    assert options.is_tracked is False
    assert options.commit is not None
    assert (options.commit.user, options.commit.identifier) == ("q", 3)
    with pytest.raises((UnknownOptionError, InvalidOptionError)):
        stream_write_options({key: "x"}, None)
