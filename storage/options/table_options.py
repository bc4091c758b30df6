"""Every option of a table, declared once; the table in docs/options.md is generated from here.

Keys, defaults and meanings of the `log.*`, `file.*`, `bucket` and `change-tracking` options are
FLIP-188's; the others are Apache Paimon's, where Paimon has such an option.
"""

from __future__ import annotations

from datetime import timedelta

from table_store.storage.options.connector_options import (
    CONNECTOR_OPTIONS,
    CONNECTOR_PREFIXES,
)
from table_store.storage.options.log_options import (
    LOG_CHANGELOG_MODE,
    LOG_CONSISTENCY,
    LOG_FORMAT,
    LOG_KAFKA,
    LOG_KAFKA_BOOTSTRAP_SERVERS,
    LOG_KAFKA_FOREIGN_RECORDS,
    LOG_KAFKA_TIMEOUT,
    LOG_KAFKA_TOPIC,
    LOG_KAFKA_TOPIC_EXISTING,
    LOG_KAFKA_TOPIC_ON_DROP,
    LOG_KAFKA_TOPIC_REPLICATION_FACTOR,
    LOG_KEY_FORMAT,
    LOG_RETENTION,
    LOG_SCAN,
    LOG_SCAN_TIMESTAMP_MILLS,
    LOG_SYSTEM,
    SCAN_BOUNDED_MODE,
    UNTRACKED_CHANGES,
)
from table_store.storage.options.options import (
    BOOLEAN,
    DURATION,
    FOR_SESSION_AND_TABLE,
    FOR_TABLE,
    FOR_TABLE_AND_READ,
    FOR_TABLE_AND_WRITE,
    FOR_WRITE,
    INTEGER_MAX,
    TEXT,
    Option,
    OptionSet,
    integer,
    long,
    memory_size,
    one_of,
)
from table_store.storage.options.stream_options import (
    CONSUMER_EXPIRATION_TIME,
    CONSUMER_ID,
    STREAM_MAX_BYTES_PER_TRIGGER,
    STREAM_MAX_FILES_PER_TRIGGER,
    STREAM_MAX_ROWS_PER_TRIGGER,
    STREAM_RETRACTIONS,
)
from table_store.storage.options.watermark_options import (
    WATERMARK_ALIGNMENT_GROUP,
    WATERMARK_ALIGNMENT_MAX_DRIFT,
    WATERMARK_IDLE_TIMEOUT,
)

_MB = 1024 * 1024

# -- where and how a table is stored ---------------------------------------------------------------

BUCKET = Option(
    key="bucket",
    type=integer(maximum=32_768),
    default=1,
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    doc="Buckets of each partition, and partitions of the log. Rows are spread by the hash of the "
    "primary key, or of the whole row. More: more tasks write at once, and more, smaller files.",
)
FILE_PATH: Option[str | None] = Option(
    key="file.path",
    type=TEXT,
    default=None,
    scopes=FOR_SESSION_AND_TABLE,
    mutable=False,
    derived_default="the warehouse",
    doc="Root folder under which the table's folder is made: in the warehouse, or in one of the "
    "catalog's `allowed-roots`.",
)
FILE_FORMAT = Option(
    key="file.format",
    type=one_of("parquet", "orc", "avro"),
    default="parquet",
    scopes=FOR_SESSION_AND_TABLE,
    doc="Format of new data files; files of several formats may stand side by side. Only parquet "
    "is read by Spark's own vectorised reader.",
)
FILE_COMPRESSION = Option(
    key="file.compression",
    type=one_of("zstd", "snappy", "none"),
    default="zstd",
    scopes=FOR_TABLE,
    doc="Compression of new data files. `none` and snappy: faster writes, larger files.",
)
FILE_COMPRESSION_ZSTD_LEVEL = Option(
    key="file.compression.zstd-level",
    type=integer(1, 19),
    default=1,
    scopes=FOR_TABLE,
    doc="Level of zstd. Higher: files some percent smaller, writes several times slower.",
)
TARGET_FILE_SIZE: Option[int | None] = Option(
    key="target-file-size",
    type=memory_size(1024),
    default=None,
    scopes=FOR_TABLE,
    derived_default="128 mb with primary key, 256 mb without",
    doc="A data file is closed at this size. Larger: fewer files to plan, coarser skipping, more "
    "to rewrite in a compaction.",
)
MERGE_ENGINE = Option(
    key="merge-engine",
    type=one_of("deduplicate"),
    default="deduplicate",
    scopes=FOR_TABLE,
    mutable=False,
    doc="What becomes of several rows with one key: the newest stays.",
)
DUPLICATE_KEY = Option(
    key="duplicate-key",
    type=one_of("fail", "replace"),
    default="fail",
    scopes=FOR_SESSION_AND_TABLE,
    doc="What a MERGE, or an UPDATE that assigns a key column, does if two rows would have one "
    "key: `fail` with `TABLE_STORE_DUPLICATE_KEY`, or `replace`: one of the rows stays and the "
    "others are lost without notice, also rows that the statement does not touch. In a session it "
    "also counts for the session's statements. INSERT always replaces.",
)

# -- writing ---------------------------------------------------------------------------------------

CHANGE_TRACKING = Option(
    key="change-tracking",
    type=BOOLEAN,
    default=True,
    scopes=FOR_TABLE_AND_WRITE,
    doc="Whether changes are tracked for consumers. As an option of one INSERT: whether that "
    "statement's are (a correction of old data need not reach them).",
)
CHANGE_TYPE_COLUMN: Option[str | None] = Option(
    key="change-type-column",
    type=TEXT,
    default=None,
    scopes=FOR_WRITE,
    doc="Column of the INSERT's query that says what each row is: `insert`, `delete`, "
    "`update_preimage` or `update_postimage`. It is not stored.",
)
SINK_EMIT: Option[str] = Option(
    key="sink.emit",
    type=one_of("on-change", "on-watermark"),
    default="on-change",
    scopes=FOR_WRITE,
    doc="Of a streaming INSERT over windows of event time: whether a window's rows come when they "
    "change, and are corrected, or once, when the watermark has passed its end: see "
    "[emission on watermark](sql.md#emission-on-watermark).",
)
COMMIT_USER: Option[str | None] = Option(
    key="commit-user",
    type=TEXT,
    default=None,
    scopes=FOR_WRITE,
    doc="Who commits, such as the name of a job. With `commit-identifier`: what was committed "
    "under both is not written again.",
)
COMMIT_IDENTIFIER: Option[int | None] = Option(
    key="commit-identifier",
    type=long(0),
    default=None,
    scopes=FOR_WRITE,
    doc="Number of what is committed, such as that of a micro-batch. Those of one `commit-user` "
    "ascend: one that is not greater than the last is committed already.",
)
WRITE_BUFFER_SIZE = Option(
    key="write-buffer-size",
    type=memory_size(64 * 1024),
    default=256 * _MB,
    scopes=FOR_TABLE,
    doc="Rows a writing task holds before it sorts and spills. Larger: fewer files to merge, more "
    "memory of each Python worker.",
)
WRITE_ONLY = Option(
    key="write-only",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    doc="Writers do not compact, and let no snapshot expire; something else has to "
    "(CALL sys.compact, CALL sys.expire_snapshots).",
)
COMMIT_MAX_RETRIES = Option(
    key="commit.max-retries",
    type=integer(0),
    default=10,
    scopes=FOR_TABLE,
    doc="How often a commit that lost the race for the next snapshot tries again, and how often an "
    "UPDATE, DELETE or MERGE whose rows others have changed meanwhile is repeated. Higher: more "
    "patience under many writers, later errors.",
)
COMMIT_MIN_RETRY_WAIT = Option(
    key="commit.min-retry-wait",
    type=DURATION,
    default=timedelta(milliseconds=10),
    scopes=FOR_TABLE,
    doc="Wait before the first of these tries; it doubles with each.",
)
COMMIT_MAX_RETRY_WAIT = Option(
    key="commit.max-retry-wait",
    type=DURATION,
    default=timedelta(seconds=10),
    scopes=FOR_TABLE,
    doc="Longest wait between two tries.",
)

# -- compaction ------------------------------------------------------------------------------------

COMPACTION_TRIGGER = Option(
    key="num-sorted-run.compaction-trigger",
    type=integer(1),
    default=5,
    scopes=FOR_TABLE,
    doc="Sorted runs of a bucket from which on it is compacted, four new ones at once: up to three "
    "more may be there. Higher: cheaper writes, slower reads, since a read merges all runs.",
)
NUM_LEVELS: Option[int | None] = Option(
    key="num-levels",
    type=integer(2),
    default=None,
    scopes=FOR_TABLE,
    derived_default="compaction trigger + 1",
    doc="Levels of a bucket. More: old rows are rewritten less often.",
)
COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT = Option(
    key="compaction.max-size-amplification-percent",
    type=integer(1),
    default=200,
    scopes=FOR_TABLE,
    doc="Size of all runs but the oldest, in percent of the oldest, above which everything is "
    "merged. Higher: fewer full rewrites, more superseded rows on disk.",
)
COMPACTION_SIZE_RATIO = Option(
    key="compaction.size-ratio",
    type=integer(0),
    default=1,
    scopes=FOR_TABLE,
    doc="Percent by which a run may be larger than the newer ones together and still be merged "
    "with them. Higher: more runs are merged at once.",
)

# -- reading ---------------------------------------------------------------------------------------

SOURCE_SPLIT_TARGET_SIZE = Option(
    key="source.split.target-size",
    type=memory_size(64 * 1024),
    default=128 * _MB,
    scopes=FOR_TABLE_AND_READ,
    doc="Bytes of files that one reading task gets. Larger: fewer tasks, less parallel.",
)

# -- snapshots and manifests -----------------------------------------------------------------------

SNAPSHOT_NUM_RETAINED_MIN = Option(
    key="snapshot.num-retained.min",
    type=integer(1),
    default=10,
    scopes=FOR_TABLE,
    doc="Newest snapshots that never expire. Higher: longer time travel, more files kept.",
)
SNAPSHOT_NUM_RETAINED_MAX = Option(
    key="snapshot.num-retained.max",
    type=integer(1),
    default=INTEGER_MAX,
    scopes=FOR_TABLE,
    doc="Snapshots beyond this number expire however young they are. Lower: fewer files kept.",
)
SNAPSHOT_TIME_RETAINED = Option(
    key="snapshot.time-retained",
    type=DURATION,
    default=timedelta(hours=1),
    scopes=FOR_TABLE,
    doc="Age from which on a snapshot expires, after the next commit. It must exceed the longest "
    "read. Longer: longer time travel, more files kept.",
)
SNAPSHOT_EXPIRE_LIMIT = Option(
    key="snapshot.expire.limit",
    type=integer(1),
    default=50,
    scopes=FOR_TABLE,
    doc="Snapshots that expire at once, at most. Higher: longer calls of sys.expire_snapshots.",
)
MANIFEST_MERGE_MIN_COUNT = Option(
    key="manifest.merge-min-count",
    type=integer(2),
    default=10,
    scopes=FOR_TABLE,
    doc="Manifests that are merged at once, at least. Higher: rarer merges, more files to open for "
    "the first read of a snapshot.",
)

TABLE_OPTIONS = OptionSet(
    (
        BUCKET,
        FILE_PATH,
        FILE_FORMAT,
        FILE_COMPRESSION,
        FILE_COMPRESSION_ZSTD_LEVEL,
        TARGET_FILE_SIZE,
        MERGE_ENGINE,
        DUPLICATE_KEY,
        CHANGE_TRACKING,
        CHANGE_TYPE_COLUMN,
        SINK_EMIT,
        COMMIT_USER,
        COMMIT_IDENTIFIER,
        WRITE_BUFFER_SIZE,
        WRITE_ONLY,
        COMMIT_MAX_RETRIES,
        COMMIT_MIN_RETRY_WAIT,
        COMMIT_MAX_RETRY_WAIT,
        COMPACTION_TRIGGER,
        NUM_LEVELS,
        COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT,
        COMPACTION_SIZE_RATIO,
        SOURCE_SPLIT_TARGET_SIZE,
        SNAPSHOT_NUM_RETAINED_MIN,
        SNAPSHOT_NUM_RETAINED_MAX,
        SNAPSHOT_TIME_RETAINED,
        SNAPSHOT_EXPIRE_LIMIT,
        MANIFEST_MERGE_MIN_COUNT,
        LOG_SYSTEM,
        LOG_RETENTION,
        LOG_CONSISTENCY,
        LOG_CHANGELOG_MODE,
        LOG_KEY_FORMAT,
        LOG_FORMAT,
        LOG_SCAN,
        LOG_SCAN_TIMESTAMP_MILLS,
        SCAN_BOUNDED_MODE,
        UNTRACKED_CHANGES,
        STREAM_RETRACTIONS,
        STREAM_MAX_FILES_PER_TRIGGER,
        STREAM_MAX_ROWS_PER_TRIGGER,
        STREAM_MAX_BYTES_PER_TRIGGER,
        CONSUMER_ID,
        CONSUMER_EXPIRATION_TIME,
        WATERMARK_ALIGNMENT_GROUP,
        WATERMARK_ALIGNMENT_MAX_DRIFT,
        WATERMARK_IDLE_TIMEOUT,
        LOG_KAFKA_BOOTSTRAP_SERVERS,
        LOG_KAFKA_TOPIC,
        LOG_KAFKA_TOPIC_EXISTING,
        LOG_KAFKA_TOPIC_ON_DROP,
        LOG_KAFKA_TOPIC_REPLICATION_FACTOR,
        LOG_KAFKA_FOREIGN_RECORDS,
        LOG_KAFKA_TIMEOUT,
        *CONNECTOR_OPTIONS,
    ),
    prefixes=(LOG_KAFKA, *CONNECTOR_PREFIXES),
)
