"""The options of streams that read a table; `table_options` has them with all others."""

from __future__ import annotations

from datetime import timedelta

from table_store.storage.options.options import (
    DURATION,
    FOR_READ,
    FOR_TABLE,
    FOR_TABLE_AND_READ,
    TEXT,
    Option,
    integer,
    long,
    memory_size,
    one_of,
)

STREAM_RETRACTIONS = Option(
    key="stream.retractions",
    type=one_of("fail", "ignore"),
    default="fail",
    scopes=FOR_TABLE_AND_READ,
    doc="What a stream that does not read `_change_type` does at a commit that changed or deleted "
    "rows: `fail`, or `ignore` what it took back.",
)
STREAM_MAX_FILES_PER_TRIGGER: Option[int | None] = Option(
    key="stream.max-files-per-trigger",
    type=integer(1),
    default=None,
    scopes=FOR_TABLE_AND_READ,
    derived_default="no limit",
    doc="Data files of which a micro-batch reads changes. The first snapshot is divided, of "
    "commits a batch has at least one. Also as Spark's `maxFilesPerTrigger`.",
)
STREAM_MAX_ROWS_PER_TRIGGER: Option[int | None] = Option(
    key="stream.max-rows-per-trigger",
    type=long(1),
    default=None,
    scopes=FOR_TABLE_AND_READ,
    derived_default="no limit",
    doc="The same in stored rows; also as `maxRowsPerTrigger`. Higher: fewer and longer batches.",
)
STREAM_MAX_BYTES_PER_TRIGGER: Option[int | None] = Option(
    key="stream.max-bytes-per-trigger",
    type=memory_size(),
    default=None,
    scopes=FOR_TABLE_AND_READ,
    derived_default="no limit",
    doc="The same in bytes of files; also as `maxBytesPerTrigger`.",
)
CONSUMER_ID: Option[str | None] = Option(
    key="consumer-id",
    type=TEXT,
    default=None,
    scopes=FOR_READ,
    doc="Name under which a stream notes at the table how far it has read, so that snapshots which "
    "it still needs do not expire; one stream for each name. `t$consumers` lists them.",
)
CONSUMER_EXPIRATION_TIME = Option(
    key="consumer.expiration-time",
    type=DURATION,
    default=timedelta(days=7),
    scopes=FOR_TABLE,
    doc="A consumer that has not been heard of for so long no longer keeps snapshots from "
    "expiring. Longer: streams may be away longer, and a forgotten one keeps files longer.",
)
