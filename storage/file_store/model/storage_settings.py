"""A table's options as the numbers that reading and writing need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Final

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.stream_options import CONSUMER_EXPIRATION_TIME
from table_store.storage.options.table_options import (
    BUCKET,
    COMMIT_MAX_RETRIES,
    COMMIT_MAX_RETRY_WAIT,
    COMMIT_MIN_RETRY_WAIT,
    COMPACTION_MAX_SIZE_AMPLIFICATION_PERCENT,
    COMPACTION_SIZE_RATIO,
    COMPACTION_TRIGGER,
    DUPLICATE_KEY,
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

_FRESH_COUNT: Final = 4
"""How many new runs are merged at once, unless the trigger is lower."""

_KEYED_FILE_BYTES = 128 << 20
_KEYLESS_FILE_BYTES = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class PickerOptions:
    """Limits of the three triggers.

    A larger `run_count_trigger` means fewer rewrites and slower reads. A larger
    `size_amplification_percent_max` means fewer full rewrites and more superseded rows on disk.
    With a larger `size_ratio_percent` more runs are merged at once. `level_count` is one more
    than the highest level.
    """

    run_count_trigger: int = 5
    size_amplification_percent_max: int = 200
    size_ratio_percent: int = 1
    level_count: int = 6

    @property
    def fresh_count_min(self) -> int:
        """How many runs must be on level 0 before the size ratio or the run count acts.

        It is less than the trigger, because the run that a merge leaves behind counts as well.
        """
        return max(1, min(_FRESH_COUNT, self.run_count_trigger - 1))

    @property
    def level_max(self) -> int:
        """The highest level; at least 1, since level 0 holds unmerged files only."""
        return max(1, self.level_count - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFileOptions:
    """How data files are written; `target_size_bytes` is where a file ends and the next begins."""

    format: str = "parquet"
    compression: str = "zstd"
    compression_level: int = 1
    target_size_bytes: int = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireOptions:
    """Which snapshots must stay.

    At least `retain_min` snapshots stay. Of the others, those committed at or after
    `older_than_ms` (a time since 1970) stay, unless there are more than `retain_max`.
    `needed_from_id` is the oldest snapshot that a tag, consumer or reader needs; `expire_max`
    bounds the snapshots that one run removes.
    """

    older_than_ms: int
    retain_min: int = 10
    retain_max: int = 2**31 - 1
    needed_from_id: int | None = None
    expire_max: int = 50

    def needing(self, snapshot_id: int | None) -> ExpireOptions:
        """Return these options with one more reason to keep snapshots from `snapshot_id` on."""
        needed = [i for i in (self.needed_from_id, snapshot_id) if i is not None]
        return replace(self, needed_from_id=min(needed, default=None))


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often a commit is attempted again, and how long it waits in between."""

    max_retries: int = 10
    min_wait_ms: int = 10
    max_wait_ms: int = 10_000

    def wait_ms(self, attempt: int, chance: int) -> int:
        """Return the pause after the attempt with this number (from 0).

        `chance` is a random number on which half of the pause depends, so that two writers that
        met once do not meet again.
        """
        longest = min(self.max_wait_ms, self.min_wait_ms << min(attempt, 20))
        return longest // 2 + chance % (longest // 2 + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageSettings:
    """The options of one table definition that the FileStore acts on."""

    bucket_count: int
    refuses_duplicates: bool
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
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        return cls(
            bucket_count=options.get(BUCKET),
            refuses_duplicates=options.get(DUPLICATE_KEY) == "fail",
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
    """Return how files are written; without key they are larger, because nothing rewrites them."""
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
