"""A table's options as the numbers that reading and writing need."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache

from table_store.storage.file_store.compaction_picker import PickerOptions
from table_store.storage.file_store.data_file_writer import DataFileOptions
from table_store.storage.file_store.expire import ExpireOptions
from table_store.storage.file_store.retry_policy import RetryPolicy
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.kernel.options import OptionValues, Scope
from table_store.storage.stream_options import CONSUMER_EXPIRATION_TIME
from table_store.storage.table_options import (
    BUCKET,
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT,
    COMPACTION_SIZE_RATIO,
    COMPACTION_TRIGGER,
    FILE_COMPRESSION,
    FILE_COMPRESSION_ZSTD_LEVEL,
    FILE_FORMAT,
    NUM_LEVELS,
    SNAPSHOT_EXPIRE_LIMIT,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    SNAPSHOT_TIME_RETAINED,
    SOURCE_SPLIT_TARGET_SIZE,
    TABLE_OPTIONS,
    TARGET_FILE_SIZE,
    WRITE_BUFFER_SIZE,
    WRITE_ONLY,
)

_KEYED_FILE_BYTES = 128 << 20
_KEYLESS_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The options of one table definition that the FileStore acts on."""

    bucket_count: int
    write_buffer_bytes: int
    split_target_bytes: int
    is_write_only: bool
    files: DataFileOptions
    picker: PickerOptions
    retry: RetryPolicy
    snapshots_min: int
    snapshots_max: int
    snapshot_age_ms: int
    expire_limit: int
    consumer_expiration_ms: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, schema: TableSchema) -> StorageSettings:
        """Read the options that a table was created or altered with; they were checked then."""
        options = TABLE_OPTIONS.parse(schema.options, Scope.TABLE)
        return cls(
            bucket_count=options.get(BUCKET),
            write_buffer_bytes=options.get(WRITE_BUFFER_SIZE),
            split_target_bytes=options.get(SOURCE_SPLIT_TARGET_SIZE),
            is_write_only=options.get(WRITE_ONLY),
            files=_files(options, has_key=bool(schema.primary_key)),
            picker=_picker(options),
            retry=RetryPolicy(
                max_retries=options.get(COMMIT_MAX_RETRIES),
                min_wait_ms=_milliseconds(options.get(COMMIT_MIN_RETRY_WAIT)),
                max_wait_ms=_milliseconds(options.get(COMMIT_MAX_RETRY_WAIT)),
            ),
            snapshots_min=options.get(SNAPSHOT_NUM_RETAINED_MIN),
            snapshots_max=options.get(SNAPSHOT_NUM_RETAINED_MAX),
            snapshot_age_ms=_milliseconds(options.get(SNAPSHOT_TIME_RETAINED)),
            expire_limit=options.get(SNAPSHOT_EXPIRE_LIMIT),
            consumer_expiration_ms=_milliseconds(options.get(CONSUMER_EXPIRATION_TIME)),
        )

    def expiry(self, now_ms: int) -> ExpireOptions:
        """Return which snapshots are kept at a time, in milliseconds since 1970."""
        return ExpireOptions(
            older_than_ms=now_ms - self.snapshot_age_ms,
            retain_min=min(self.snapshots_min, self.snapshots_max),
            retain_max=self.snapshots_max,
            expire_max=self.expire_limit,
        )


def _files(options: OptionValues, *, has_key: bool) -> DataFileOptions:
    """Files of a table without key are larger: nothing rewrites them."""
    return DataFileOptions(
        format=options.get(FILE_FORMAT),
        compression=options.get(FILE_COMPRESSION),
        compression_level=options.get(FILE_COMPRESSION_ZSTD_LEVEL),
        target_size_bytes=options.get(TARGET_FILE_SIZE)
        or (_KEYED_FILE_BYTES if has_key else _KEYLESS_FILE_BYTES),
    )


def _picker(options: OptionValues) -> PickerOptions:
    trigger = options.get(COMPACTION_TRIGGER)
    return PickerOptions(
        run_count_trigger=trigger,
        size_amplification_percent_max=options.get(COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT),
        size_ratio_percent=options.get(COMPACTION_SIZE_RATIO),
        level_count=options.get(NUM_LEVELS) or trigger + 1,
    )


def _milliseconds(time: timedelta) -> int:
    return time // timedelta(milliseconds=1)
