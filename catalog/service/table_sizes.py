"""How large tables are, and what a read of them has to merge."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.log_store.log_position import PositionFile
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSize:
    """What a snapshot consists of.

    Attributes:
        files: data files.
        size_bytes: of these files.
        rows: stored in them, deletions and superseded versions included.
        sorted_runs: in the bucket that has most: so many a read merges. None without primary key.
        log_lag: so many snapshots are not in the table's topic yet. None without a topic.
    """

    files: int
    size_bytes: int
    rows: int
    sorted_runs: int | None
    log_lag: int | None


@dataclass(slots=True)
class TableSizes:
    """Looks at tables again when they have another snapshot."""

    _known: dict[str, tuple[int, TableSize]] = field(default_factory=dict)

    def of(self, path: str) -> TableSize | None:
        """Return the size of the table in a directory; None before its first commit, or if gone.

        Costs the reads of the manifests that are new, where there is a new snapshot or a topic.
        """
        with suppress(TableStoreError):  # what is damaged is told to those who read the table
            table = open_logged(path)
            snapshot = table.latest_snapshot()
            if snapshot is None:
                return None
            seen, size = self._known.get(path, (0, None))
            if size is None or seen != snapshot.id or size.log_lag:
                size = _size(table, snapshot)
                self._known[path] = (snapshot.id, size)
            return size
        return None


def _size(table: FileStoreTable, snapshot: Snapshot) -> TableSize:
    schema = table.schema
    live = table.live_files(snapshot, schema)
    options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
    has_topic = log_system(options) is LogSystem.KAFKA
    position = PositionFile(table.file_io, table.path).read() if has_topic else None
    return TableSize(
        files=live.file_count,
        size_bytes=live.size_bytes,
        rows=live.record_count,
        sorted_runs=_sorted_runs(live) if schema.primary_key else None,
        log_lag=None if position is None else max(0, snapshot.id - position.snapshot_id),
    )


def _sorted_runs(live: LiveFiles) -> int:
    """Each file of level 0 is a run, and so are the files of each other level together."""
    level = live.entries["level"]
    run = pc.if_else(pc.equal(level, 0), live.entries["name"], pc.cast(level, pa.string()))
    keys = [f"partition_{i}" for i in range(len(live.schema.partition_keys))]
    runs = live.entries.append_column("run", run).group_by([*keys, "bucket"])
    counts = runs.aggregate([("run", "count_distinct")])["run_count_distinct"]
    return int(pc.max(counts).as_py() or 0)
