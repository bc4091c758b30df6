"""How far a stream is behind the table that it reads, as Spark shows it with its progress."""

from __future__ import annotations

from typing import Final

from table_store.catalog.planner.stream.stream_offset import StreamOffset
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.table import FileStoreTable

_SNAPSHOTS: Final = "snapshotsBehindLatest"
_ROWS: Final = "rowsBehindLatest"
_TIME: Final = "millisecondsBehindLatest"
_COUNTED_MAX: Final = 256
"""Most snapshots read for one progress report; a stream further behind gets no row count."""


def lag_of(table: FileStoreTable, read: StreamOffset, latest: int) -> dict[str, str]:
    """Snapshots, rows and milliseconds between `read` and snapshot `latest`.

    Rows: how many rows the unread commits added to the table. Milliseconds: the age of the oldest
    unread commit; 0 if the stream has read everything.

    Raises:
        SnapshotNotFoundError: a snapshot that the stream has not read has expired.
    """
    is_begun = not read.is_before_all and read.parts is None
    if latest == 0 or (is_begun and read.version >= latest):
        return {_SNAPSHOTS: "0", _ROWS: "0", _TIME: "0"}
    first = read.version + 1 if is_begun else latest
    oldest = table.snapshot_store.get(first)
    waited_ms = max(0, table.clock.now_ms() - oldest.time_ms)
    lag = {_SNAPSHOTS: str(latest - first + 1), _TIME: str(waited_ms)}
    if not is_begun:
        return {**lag, _ROWS: str(oldest.total_record_count)}
    if latest - first >= _COUNTED_MAX:
        return lag
    snapshots = table.snapshot_store.between(first, latest)
    commits = [s for s in snapshots if s.commit_kind is not CommitKind.COMPACT]
    return {**lag, _ROWS: str(sum(max(0, s.delta_record_count) for s in commits))}
