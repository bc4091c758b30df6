"""The groups of a query's aggregates, each in a table of its own in the directory of the sink.

Such a table is brought to its next snapshot before the sink is: the sink's progress names the
snapshots that belong to its rows (`Followed.states`). One that is newer, because an epoch died on
the way to its sink, is taken back before the next change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from pyspark.sql import DataFrame

from table_store.catalog.definition.table_definition import columns_from_spark
from table_store.catalog.jobs.delta import Delta
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.catalog.planner.epochs.sink import Sink
from table_store.catalog.planner.names.managed_table import describe_table
from table_store.catalog.planner.protocol.handles import TableHandle, TableReference
from table_store.catalog.planner.protocol.json_form import to_json
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.write_requests import write_with
from table_store.storage.file_store.model.errors import CommitConflictError, SnapshotNotFoundError
from table_store.storage.file_store.model.schema import new_schema
from table_store.storage.file_store.model.snapshot import CommitKind, Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.table_options import (
    BUCKET,
    CHANGE_TRACKING,
    SNAPSHOT_NUM_RETAINED_MAX,
)

_DIRECTORY: Final = "job/state"
_SNAPSHOTS_KEPT: Final = 100
"""Only the one that the sink's progress names is read; each epoch that fails adds two."""
_ABSENT: Final = (MissingFileError, NotFoundError, SnapshotNotFoundError)


@dataclass(slots=True)
class AggregateStates:
    """The tables of one epoch, by the numbers of their aggregates in the plan.

    Attributes:
        sink: the table that the query is kept in.
        query: the query.
        before: the snapshots that belong to the sink's rows, 0 before the first one; none of
            tables that cannot be found.
        now: those that belong to the rows that the epoch writes.
        are_dear: see `Followed.are_groups_dear`.
        emitted_ms: see `Followed`.
    """

    sink: Sink
    query: JobQuery
    before: Mapping[int, int]
    now: dict[int, int] = field(init=False)
    are_dear: bool = False
    emitted_ms: int | None = None
    _read: dict[tuple[int, int], DataFrame] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self.now = dict(self.before)

    @classmethod
    def of(cls, sink: Sink, query: JobQuery, followed: Followed | None) -> AggregateStates:
        """Find the tables that belong to a sink's rows; costs two small files for each."""
        states = cls(sink, query, FrozenMap())
        if followed is not None and followed.plan == query.meaning:
            states.before = {n: at for n, at in followed.states.items() if states._is_there(n, at)}
            states.now = dict(states.before)
            states.are_dear = followed.are_groups_dear
        return states

    @property
    def followed(self) -> Followed:
        """What the sink's rows are the result of after the epoch."""
        known = self.query.followed
        return replace(
            known,
            states=FrozenMap(self.now),
            are_groups_dear=self.are_dear,
            emitted_ms=self.emitted_ms,
        )

    @property
    def group_counts(self) -> dict[int, int]:
        """About how many groups each aggregate has."""
        return {
            node: self._table(node).snapshot_store.get(at).total_record_count if at else 0
            for node, at in self.before.items()
        }

    def accumulated(self, node: int, changes: Delta[DataFrame]) -> Delta[DataFrame]:
        """See `Evaluator.accumulated`.

        Raises:
            CommitConflictError: another epoch of the job is under way.
        """
        query = self.query
        merged = query.merged(node, changes, self._rows(node, self.before[node]))
        if merged is None:
            return []
        table = self._table(node)
        base = self._take_back(table, self.before[node])
        rows = query.state_change(node, merged, CHANGE_TYPE)
        self._write(node, table, base, rows, WriteMode.APPEND)
        return [
            (query.result_of(node, merged, is_after=True), 1),
            (query.result_of(node, merged, is_after=False), -1),
        ]

    def rebuild(self) -> None:
        """Hold the groups of all rows, of each aggregate whose groups a table can hold.

        None are held if they are dear.

        Raises:
            CommitConflictError: another epoch of the job is under way.
        """
        self.now = {}
        if self.are_dear:
            return
        self.before = {}
        plan = self.query.plan
        for node in reversed(range(len(plan.nodes))):
            if plan.nodes[node].state is None:
                continue
            (child,) = plan.children(node)
            rows = self.query.evaluated(child, {}, states=self.rows())
            table = self._created(node)
            base = table.latest_snapshot()
            self._write(node, table, base, self.query.state(node, rows), WriteMode.OVERWRITE)

    def rows(
        self, old: Set[int] = frozenset(), changed: Set[int] = frozenset()
    ) -> dict[int, DataFrame]:
        """The groups of aggregates, where all tables below are old or none is.

        Of the tables, those in `changed` are not what they were; `old` has those of them that are
        to be read as they were.
        """
        found = {}
        for node in self.now:
            below = self.query.plan.sources(node) & changed
            if below <= old and node in self.before:
                found[node] = self._rows(node, self.before[node])
            elif not below & old:
                found[node] = self._rows(node, self.now[node])
        return found

    def forget_others(self) -> None:
        """Delete the tables of other queries and of aggregates that are not held any more."""
        file_io, root = self.sink.table.file_io, f"{self.sink.table.path}/{_DIRECTORY}"
        kept = {self._path(node) for node in self.now}
        with suppress(MissingFileError):
            for status in file_io.list(root):
                if status.path not in kept:
                    file_io.delete(status.path, recursive=True)

    def _is_there(self, node: int, at: int) -> bool:
        try:
            table = self._table(node)
            if at:
                table.snapshot_store.get(at)
        except _ABSENT:
            return False
        # What has come into an empty table cannot be taken back.
        return at > 0 or table.latest_snapshot() is None

    def _path(self, node: int) -> str:
        told = (self.sink.job, self.query.meaning, node, self.query.plan.nodes[node].state)
        name = hashlib.sha256(json.dumps(told).encode()).hexdigest()[:16]
        return f"{self.sink.table.path}/{_DIRECTORY}/{name}"

    def _table(self, node: int) -> FileStoreTable:
        return open_logged(self._path(node), self.sink.table.file_io)

    def _created(self, node: int) -> FileStoreTable:
        with suppress(*_ABSENT):
            return self._table(node)
        columns = self.query.plan.nodes[node].state
        assert columns is not None, "a table can hold its groups"
        fields = columns_from_spark(columns)
        options = {
            CHANGE_TRACKING.key: "false",
            SNAPSHOT_NUM_RETAINED_MAX.key: str(_SNAPSHOTS_KEPT),
        }
        buckets = self.sink.schema.options.get(BUCKET.key)
        schema = new_schema(
            fields=fields,
            primary_key=(fields[0].name,),
            options=options if buckets is None else {**options, BUCKET.key: buckets},
            time_ms=self.sink.table.clock.now_ms(),
        )
        replace(self.sink.table, path=self._path(node)).schema_store.publish(schema)
        return self._table(node)

    def _take_back(self, table: FileStoreTable, snapshot_id: int) -> Snapshot | None:
        """Take back what an epoch wrote whose sink did not follow; return the snapshot without it.

        What another epoch that is under way writes after that snapshot is a conflict.

        Raises:
            CommitConflictError: it wrote into an empty table.
        """
        latest, snapshots = table.latest_snapshot(), table.snapshot_store
        later = range(snapshot_id + 1, 1 if latest is None else latest.id + 1)
        if any(snapshots.get(at).commit_kind is not CommitKind.COMPACT for at in later):
            if not snapshot_id:
                # It was empty a moment ago (`_is_there`), so the epoch is under way.
                raise CommitConflictError(
                    table=self.sink.name,
                    snapshot_id=None,
                    operation="REFRESH",
                    reason="another refresh is under way",
                )
            # By another user each time: a user's statement takes effect once.
            user = table.ids.unique()
            return table.committer().rollback(snapshot_id, commit_user=user).snapshot
        return latest

    def _rows(self, node: int, snapshot_id: int) -> DataFrame:
        if (node, snapshot_id) not in self._read:
            self._read[node, snapshot_id] = self._read_rows(node, snapshot_id)
        return self._read[node, snapshot_id]

    def _read_rows(self, node: int, snapshot_id: int) -> DataFrame:
        table = self._table(node)
        schema = table.schema
        described = describe_table(
            schema,
            name=self._name(node),
            properties={},
            handle=TableHandle(
                path=table.path, schema_id=schema.id, snapshot_id=snapshot_id or None
            ),
        )
        return self.query.table(self._name(node), json.dumps(to_json(described)))

    def _write(
        self,
        node: int,
        table: FileStoreTable,
        latest: Snapshot | None,
        rows: DataFrame,
        mode: WriteMode,
    ) -> None:
        handle = TableHandle(
            path=table.path,
            schema_id=table.schema.id,
            snapshot_id=None if latest is None else latest.id,
            written=tuple(rows.columns),
            change_type_column=CHANGE_TYPE if CHANGE_TYPE in rows.columns else None,
        )
        # By a user of its own: what another epoch of the job commits meanwhile is a conflict.
        request = Write(
            table=TableReference(relation=self.sink.relation, handle=handle),
            mode=mode,
            options={},
            # With a command, a commit of others since the snapshot is a conflict.
            command="REFRESH",
        )
        session = self.query.session
        data = session.bridge.JobQuery.written(rows._jdf)
        done = write_with(session, request, data, {}, waits=self.sink.is_view)
        new = latest if done.snapshot is None else done.snapshot
        self.now[node] = 0 if new is None else new.id

    def _name(self, node: int) -> str:
        return f"groups of {self.sink.name} ({node})"
