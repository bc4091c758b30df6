"""The procedures of namespace `sys`: `CALL sys.compact(table => 'db.t')` and the like.

Names of procedures and arguments are those of Apache Paimon (docs/spark/procedures.md), as far
as they have a meaning here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final
from zoneinfo import ZoneInfo

import pyarrow as pa

from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.shown.procedure import Arguments, Procedure, ProcedureParameter
from table_store.catalog.tables.lifecycle import ManagedTable, TableLifecycle
from table_store.storage.file_store.expiry.orphan_files import (
    find_orphan_files,
    remove_orphan_files,
)
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.storage_settings import ExpireOptions, StorageSettings
from table_store.storage.file_store.repair import find_repairs
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import BOOLEAN, INTEGER, LONG, STRING, DataType
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.log_options import LOG_SYSTEM
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

PROCEDURE_NAMESPACE: Final = "sys"

ORPHAN_AGE_MIN_MS: Final = 24 * 60 * 60 * 1000
"""Younger files may belong to a statement that is still running: only by force do they go."""

Compact = Callable[[ManagedTable, Mapping[str, str]], Mapping[str, int]]
"""Compacts a table, or the partition of these values' texts; the numbers of COMPACTION_RESULT."""

COMPACTION_RESULT: Final = pa.schema(
    [(name, pa.int64()) for name in ("files_before", "files_after", "bytes_before", "bytes_after")]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureContext:
    """What a call works with.

    Attributes:
        lifecycle: of the catalog's tables.
        catalog_name: as the session knows it.
        namespace: in which a table is looked for that is named without one.
        time_zone: of the session, for timestamps without a zone.
        compact: does the work of `compact`, which may need a cluster.
    """

    lifecycle: TableLifecycle
    catalog_name: str
    namespace: str
    time_zone: str
    compact: Compact

    def table(self, arguments: Arguments) -> ManagedTable:
        """Return the table that the argument `table` names."""
        return self.lifecycle.load(
            parse_table_name(
                arguments.text("table"), catalog=self.catalog_name, namespace=self.namespace
            )
        )

    def open(self, table: ManagedTable) -> FileStoreTable:
        """Return the storage of a table."""
        warehouse = self.lifecycle.warehouse
        file_io = warehouse.places.file_io_of(table.location)
        opened = open_logged(table.location, file_io)
        return replace(opened, clock=warehouse.clock, ids=warehouse.ids)

    def time_ms(self, arguments: Arguments, name: str, default_ms: int) -> int:
        """Return the moment that a timestamp argument means, or the default."""
        text = arguments.optional_text(name)
        if text is None:
            return default_ms
        try:
            moment = dt.datetime.fromisoformat(text.strip())
        except ValueError as error:
            raise InvalidOptionError(
                key=name, value=text, reason="use a timestamp like '2026-01-31 12:00:00'"
            ) from error
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=ZoneInfo(self.time_zone))
        return int(moment.timestamp() * 1000)


_TABLE: Final = ProcedureParameter(
    name="table",
    type=STRING,
    is_required=True,
    description="The table, as table or namespace.table.",
)


def _compact(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.table(arguments)
    specs = _partition_specs(arguments.optional_text("partitions"))
    totals = dict.fromkeys(COMPACTION_RESULT.names, 0)
    for spec in specs or ({},):
        for name, number in context.compact(table, spec).items():
            totals[name] += number
    return pa.Table.from_pylist([totals], schema=COMPACTION_RESULT)


def _partition_specs(text: str | None) -> tuple[Mapping[str, str], ...]:
    """Return the partitions that `p=0,q=1;p=2` names: `,` within one, `;` between them."""
    if text is None or not text.strip():
        return ()
    specs: list[Mapping[str, str]] = []
    for part in text.split(";"):
        pairs = [pair.partition("=") for pair in part.split(",")]
        if not all(name.strip() and equals for name, equals, _ in pairs):
            raise InvalidOptionError(
                key="partitions", value=text, reason="use column=value,other=value;column=value"
            )
        specs.append({name.strip(): value.strip().strip("'") for name, _, value in pairs})
    return tuple(specs)


def _rollback(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.open(context.table(arguments))
    version, snapshot = arguments.optional_text("version"), arguments.optional_int("snapshot")
    if (version is None) == (snapshot is None):
        raise InvalidOptionError(
            key="version", value=version, reason="say either version or snapshot, the id to go to"
        )
    if snapshot is None:
        text = (version or "").strip()
        if not text.isdecimal():
            raise SnapshotNotFoundError(
                table=table.path,
                asked=repr(text),
                earliest_id=table.snapshot_store.earliest_id(),
                latest_id=table.snapshot_store.latest_id(),
            )
        snapshot = int(text)
    before = table.snapshot_store.latest_id()
    table.committer().rollback(snapshot, commit_user=table.ids.unique())
    after = table.snapshot_store.latest_id()
    return pa.table(
        {"previous_snapshot_id": [before], "current_snapshot_id": [after]}, schema=_ROLLBACK_RESULT
    )


_ROLLBACK_RESULT: Final = pa.schema(
    [("previous_snapshot_id", pa.int64()), ("current_snapshot_id", pa.int64())]
)


def _expire_snapshots(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    managed = context.table(arguments)
    table = context.open(managed)
    kept = StorageSettings.of(managed.schema).expiry(table.clock.now_ms())
    older_than_ms = context.time_ms(arguments, "older_than", kept.older_than_ms)
    retain_max = _or(arguments.optional_int("retain_max"), kept.retain_max)
    retain_min = _or(arguments.optional_int("retain_min"), min(kept.retain_min, retain_max))
    for name, number in (("retain_max", retain_max), ("retain_min", retain_min)):
        if number < 1:
            raise InvalidOptionError(key=name, value=str(number), reason="the latest always stays")
    if retain_min > retain_max:
        raise InvalidOptionError(
            key="retain_min", value=str(retain_min), reason=f"it exceeds retain_max = {retain_max}"
        )
    result = table.expire_snapshots(
        ExpireOptions(
            older_than_ms=older_than_ms,
            retain_min=retain_min,
            retain_max=retain_max,
            expire_max=_or(arguments.optional_int("max_deletes"), kept.expire_max),
        )
    )
    # What REPLACE TABLE left is history too.
    context.lifecycle.forget_generations(managed, until_ms=older_than_ms)
    return pa.table(
        {
            "deleted_snapshots_count": [len(result.snapshot_ids)],
            "deleted_data_files_count": [result.data_files],
        },
        schema=_EXPIRE_RESULT,
    )


def _reset_consumer(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    consumers = context.open(context.table(arguments)).consumers
    name, following = arguments.text("consumer_id"), arguments.optional_int("next_snapshot_id")
    if following is None:
        was_known = consumers.remove(name)
    else:
        was_known = any(consumer.id == name for consumer in consumers.all())
        consumers.note(name, following)
    return pa.table({"was_known": [was_known]}, schema=_RESET_RESULT)


_RESET_RESULT: Final = pa.schema([("was_known", pa.bool_())])


def _repair(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    repairs = find_repairs(context.open(context.table(arguments)))
    if not arguments.optional_bool("dry_run"):
        for repair in repairs:
            repair.run()
    return pa.table(
        {name: [getattr(r, name) for r in repairs] for name in _REPAIR_RESULT.names},
        schema=_REPAIR_RESULT,
    )


_REPAIR_RESULT: Final = pa.schema(
    [("problem", pa.string()), ("path", pa.string()), ("action", pa.string())]
)


def _or(asked: int | None, default: int) -> int:
    return default if asked is None else asked


_EXPIRE_RESULT: Final = pa.schema(
    [("deleted_snapshots_count", pa.int64()), ("deleted_data_files_count", pa.int64())]
)


def _relay_log(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.open(context.table(arguments))
    system = log_system(TABLE_OPTIONS.parse(table.schema.options, OptionScope.TABLE))
    if system is not LogSystem.KAFKA:
        raise InvalidOptionError(
            key=LOG_SYSTEM.key,
            value=system.value,
            reason="only a log in Kafka can lag behind its table",
        )
    position = LogListener(table).catch_up()
    return pa.table([[position.snapshot_id], [position.foreign_records]], schema=_RELAY_RESULT)


_RELAY_RESULT: Final = pa.schema([("snapshot_id", pa.int64()), ("foreign_records", pa.int64())])


def _remove_orphan_files(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    warehouse = context.lifecycle.warehouse
    safe_ms = warehouse.clock.now_ms() - ORPHAN_AGE_MIN_MS
    older_than_ms = context.time_ms(arguments, "older_than", safe_ms)
    is_dry_run = arguments.optional_bool("dry_run") or False
    is_forced = arguments.optional_bool("force") or False
    if older_than_ms > safe_ms and not (is_dry_run or is_forced):
        raise InvalidOptionError(
            key="older_than",
            value=arguments.text("older_than"),
            reason="files younger than a day may be those of a statement that still runs; name "
            "an earlier time, look with dry_run => true, or add force => true when nothing writes",
        )
    count = size_bytes = 0
    for managed in _tables(context, arguments):
        table = context.open(managed)
        clean = find_orphan_files if is_dry_run else remove_orphan_files
        found = clean(table.file_io, table.path, table.schema_store, older_than_ms=older_than_ms)
        count += len(found)
        size_bytes += sum(status.size for status in found)
    if not is_dry_run:
        warehouse.remove_leftovers()
    return pa.table(
        {"deletedFileCount": [count], "deletedFileTotalLenInBytes": [size_bytes]},
        schema=_ORPHAN_RESULT,
    )


_ORPHAN_RESULT: Final = pa.schema(
    [("deletedFileCount", pa.int64()), ("deletedFileTotalLenInBytes", pa.int64())]
)


def _tables(context: ProcedureContext, arguments: Arguments) -> tuple[ManagedTable, ...]:
    """Return the table named, or with `namespace.*` all tables of a namespace."""
    name = arguments.text("table").strip()
    if not name.endswith(".*"):
        return (context.table(arguments),)
    namespace = parse_table_name(
        name[:-2], catalog=context.catalog_name, namespace=context.catalog_name
    ).name
    records = context.lifecycle.warehouse.records(namespace, [RelationKind.TABLE])
    return tuple(context.lifecycle.load(record.identifier) for record in records)


def _optional(name: str, data_type: DataType, description: str) -> ProcedureParameter:
    return ProcedureParameter(name=name, type=data_type, is_required=False, description=description)


PROCEDURES: Final[Mapping[str, Procedure[ProcedureContext]]] = FrozenMap(
    (procedure.name, procedure)
    for procedure in (
        Procedure(
            name="compact",
            description="Merges all files of a table, or of some partitions, bucket by bucket.",
            parameters=(
                _TABLE,
                _optional(
                    "partitions",
                    STRING,
                    "Partitions like 'p=0,q=1;p=2': ',' is and, ';' is or. All by default.",
                ),
            ),
            result=COMPACTION_RESULT,
            run=_compact,
        ),
        Procedure(
            name="rollback",
            description="Makes a new snapshot with the rows of an older one; history is kept.",
            parameters=(
                _TABLE,
                _optional("version", STRING, "Id of the snapshot to go back to."),
                _optional("snapshot", LONG, "The same as a number."),
            ),
            result=_ROLLBACK_RESULT,
            run=_rollback,
        ),
        Procedure(
            name="expire_snapshots",
            description="Removes old snapshots and the files that only they need.",
            parameters=(
                _TABLE,
                _optional("retain_max", INTEGER, "Snapshots to keep at most."),
                _optional("retain_min", INTEGER, "Snapshots to keep at least."),
                _optional("older_than", STRING, "Timestamp; younger snapshots are kept."),
                _optional("max_deletes", INTEGER, "Snapshots to remove at most."),
            ),
            result=_EXPIRE_RESULT,
            run=_expire_snapshots,
        ),
        Procedure(
            name="reset_consumer",
            description="Forgets a consumer, or sets how far it has read.",
            parameters=(
                _TABLE,
                ProcedureParameter(
                    name="consumer_id",
                    type=STRING,
                    is_required=True,
                    description="The 'consumer-id' of a stream.",
                ),
                _optional("next_snapshot_id", LONG, "First snapshot it needs. None: forget it."),
            ),
            result=_RESET_RESULT,
            run=_reset_consumer,
        ),
        Procedure(
            name="repair",
            description="Goes on without snapshots that are lost or damaged; tells what it gives "
            "up for that.",
            parameters=(
                _TABLE,
                _optional("dry_run", BOOLEAN, "Only tell, change nothing. False by default."),
            ),
            result=_REPAIR_RESULT,
            run=_repair,
        ),
        Procedure(
            name="relay_log",
            description="Brings all changes into the table's topic that a failure has kept back.",
            parameters=(_TABLE,),
            result=_RELAY_RESULT,
            run=_relay_log,
        ),
        Procedure(
            name="remove_orphan_files",
            description="Removes files that no snapshot needs, left by crashes.",
            parameters=(
                ProcedureParameter(
                    name="table",
                    type=STRING,
                    is_required=True,
                    description="The table, or namespace.* for all tables of a namespace.",
                ),
                _optional(
                    "older_than",
                    STRING,
                    "Timestamp; younger files are kept, for a running statement may have written "
                    "them. One day ago by default, which is also the latest without force.",
                ),
                _optional("dry_run", BOOLEAN, "Only count, remove nothing. False by default."),
                _optional(
                    "force",
                    BOOLEAN,
                    "Remove younger files, too: only while nothing writes. False by default.",
                ),
            ),
            result=_ORPHAN_RESULT,
            run=_remove_orphan_files,
        ),
    )
)
"""By name, in the namespace `sys`."""
