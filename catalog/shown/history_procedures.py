"""Procedures on what a table keeps of its past: snapshots, consumers, and the log."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import pyarrow as pa

from table_store.catalog.connectors.sink import is_sink
from table_store.catalog.shown.procedure import (
    TABLE_PARAMETER,
    Arguments,
    Procedure,
    ProcedureParameter,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.storage.file_store.model.storage_settings import ExpireOptions, StorageSettings
from table_store.storage.kernel.errors import CorruptFileError, InvalidOptionError, NotFoundError
from table_store.storage.kernel.types import INTEGER, LONG, STRING
from table_store.storage.log_store.log_listener import LogListener
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.options.log_options import LOG_SYSTEM
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_ROLLBACK_RESULT: Final = pa.schema(
    [("previous_snapshot_id", pa.int64()), ("current_snapshot_id", pa.int64())]
)
_EXPIRE_RESULT: Final = pa.schema(
    [("deleted_snapshots_count", pa.int64()), ("deleted_data_files_count", pa.int64())]
)
_TAG_RESULT: Final = pa.schema([("tag", pa.string()), ("snapshot_id", pa.int64())])
_RESET_RESULT: Final = pa.schema([("was_known", pa.bool_())])
_RELAY_RESULT: Final = pa.schema([("snapshot_id", pa.int64()), ("foreign_records", pa.int64())])


def _rollback(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    managed = context.table(arguments)
    table = context.open(managed)
    version, snapshot = arguments.optional_text("version"), arguments.optional_int("snapshot")
    if (version is None) == (snapshot is None):
        raise InvalidOptionError(
            key="version",
            value=version,
            reason="say either version, the id or tag to go to, or snapshot, an id",
        )
    if snapshot is None:
        snapshot = table.tags.version((version or "").strip()).id
    before = table.snapshot_store.latest_id()
    table.committer().rollback(snapshot, commit_user=table.ids.unique())
    context.recache(managed)
    after = table.snapshot_store.latest_id()
    return pa.table(
        {"previous_snapshot_id": [before], "current_snapshot_id": [after]}, schema=_ROLLBACK_RESULT
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


def _or(asked: int | None, default: int) -> int:
    return default if asked is None else asked


def _create_tag(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.open(context.table(arguments))
    snapshot_id = arguments.optional_int("snapshot") or table.snapshot_store.latest_id()
    if snapshot_id is None:
        raise NotFoundError(kind="snapshot of table", name=arguments.text("table"))
    tag = table.tags.create(arguments.text("tag"), snapshot_id, table.ids.unique())
    return pa.table([[tag.name], [snapshot_id]], schema=_TAG_RESULT)


def _delete_tag(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    tags = context.open(context.table(arguments)).tags
    name, snapshot_id = arguments.text("tag"), None
    with suppress(CorruptFileError):  # a damaged tag goes like any other, and names no snapshot
        snapshot_id = tags.get(name).snapshot.id
    tags.delete(name)
    return pa.table([[name], [snapshot_id]], schema=_TAG_RESULT)


def _reset_consumer(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.open(context.table(arguments))
    consumers = table.consumers
    name, following = arguments.text("consumer_id"), arguments.optional_int("next_snapshot_id")
    if following is None:
        was_known = consumers.remove(name)
    else:
        if not name:
            reason = "say the 'consumer-id' of a stream"
            raise InvalidOptionError(key="consumer_id", value=name, reason=reason)
        coming = (table.snapshot_store.latest_id() or 0) + 1
        if not 1 <= following <= coming:
            reason = f"use the id of a snapshot, or {coming}, that of the next one"
            raise InvalidOptionError(key="next_snapshot_id", value=str(following), reason=reason)
        was_known = any(consumer.id == name for consumer in consumers.all())
        consumers.note(name, following)
    return pa.table({"was_known": [was_known]}, schema=_RESET_RESULT)


def _relay_log(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.open(context.table(arguments))
    system = log_system(TABLE_OPTIONS.parse(table.schema.options, OptionScope.TABLE))
    if system is not LogSystem.KAFKA and not is_sink(table.schema):
        raise InvalidOptionError(
            key=LOG_SYSTEM.key,
            value=system.value,
            reason="only a log in Kafka, or what a connector takes, can lag behind its table",
        )
    position = LogListener(table).catch_up()
    return pa.table([[position.snapshot_id], [position.foreign_records]], schema=_RELAY_RESULT)


_TAG_PARAMETER: Final = ProcedureParameter(
    name="tag", type=STRING, is_required=True, description="Its name, which is no number."
)

HISTORY_PROCEDURES: Final = (
    Procedure(
        name="create_tag",
        description="Gives a snapshot a name, and keeps it from expiring.",
        parameters=(
            TABLE_PARAMETER,
            _TAG_PARAMETER,
            optional_parameter("snapshot", LONG, "Its id. The latest by default."),
        ),
        result=_TAG_RESULT,
        run=_create_tag,
    ),
    Procedure(
        name="delete_tag",
        description="Forgets the name of a snapshot, which may expire then.",
        parameters=(TABLE_PARAMETER, _TAG_PARAMETER),
        result=_TAG_RESULT,
        run=_delete_tag,
    ),
    Procedure(
        name="rollback",
        description="Makes a new snapshot with the rows of an older one; history is kept.",
        parameters=(
            TABLE_PARAMETER,
            optional_parameter("version", STRING, "Id or tag of the snapshot to go back to."),
            optional_parameter("snapshot", LONG, "Its id as a number."),
        ),
        result=_ROLLBACK_RESULT,
        run=_rollback,
    ),
    Procedure(
        name="expire_snapshots",
        description="Removes old snapshots and the files that only they need.",
        parameters=(
            TABLE_PARAMETER,
            optional_parameter("retain_max", INTEGER, "Snapshots to keep at most."),
            optional_parameter("retain_min", INTEGER, "Snapshots to keep at least."),
            optional_parameter("older_than", STRING, "Timestamp; younger snapshots are kept."),
            optional_parameter("max_deletes", INTEGER, "Snapshots to remove at most."),
        ),
        result=_EXPIRE_RESULT,
        run=_expire_snapshots,
    ),
    Procedure(
        name="reset_consumer",
        description="Forgets a consumer, or sets how far it has read.",
        parameters=(
            TABLE_PARAMETER,
            ProcedureParameter(
                name="consumer_id",
                type=STRING,
                is_required=True,
                description="The 'consumer-id' of a stream.",
            ),
            optional_parameter(
                "next_snapshot_id", LONG, "First snapshot it needs. None: forget it."
            ),
        ),
        result=_RESET_RESULT,
        run=_reset_consumer,
    ),
    Procedure(
        name="relay_log",
        description="Brings all changes into the table's topic that a failure has kept back.",
        parameters=(TABLE_PARAMETER,),
        result=_RELAY_RESULT,
        run=_relay_log,
    ),
)
