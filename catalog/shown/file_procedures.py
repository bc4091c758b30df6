"""Procedures on the files of a table: compaction, orphans, and the repair of damage."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import pyarrow as pa

from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.shown.procedure import (
    TABLE_PARAMETER,
    Arguments,
    Procedure,
    ProcedureParameter,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.file_store.expiry.orphan_files import (
    find_orphan_files,
    remove_orphan_files,
)
from table_store.storage.file_store.repair import find_repair
from table_store.storage.kernel.errors import InvalidOptionError, TableStoreError
from table_store.storage.kernel.types import BOOLEAN, STRING

ORPHAN_AGE_MIN_MS: Final = 24 * 60 * 60 * 1000
"""Younger files may belong to a running statement, so they are removed only by force."""

COMPACTION_RESULT: Final = pa.schema(
    [(name, pa.int64()) for name in ("files_before", "files_after", "bytes_before", "bytes_after")]
)
_ORPHAN_RESULT: Final = pa.schema(
    [("deletedFileCount", pa.int64()), ("deletedFileTotalLenInBytes", pa.int64())]
)
_REPAIR_RESULT: Final = pa.schema(
    [("problem", pa.string()), ("path", pa.string()), ("action", pa.string())]
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


def _remove_orphan_files(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    warehouse = context.lifecycle.warehouse
    safe_ms = warehouse.clock.now_ms() - ORPHAN_AGE_MIN_MS
    is_dry_run = arguments.optional_bool("dry_run") or False
    is_forced = arguments.optional_bool("force") or False
    default_ms = sys.maxsize if is_forced else safe_ms
    older_than_ms = context.time_ms(arguments, "older_than", default_ms)
    if older_than_ms > safe_ms and not (is_dry_run or is_forced):
        raise InvalidOptionError(
            key="older_than",
            value=arguments.text("older_than"),
            reason="files younger than a day may be those of a statement that still runs; name "
            "an earlier time, look with dry_run => true, or add force => true when nothing writes",
        )
    clean = find_orphan_files if is_dry_run else remove_orphan_files
    count = size_bytes = 0
    errors: list[TableStoreError] = []
    for load in _tables(context, arguments):
        try:
            table = context.open(load())
            found = clean(
                table.file_io, table.path, table.schema_store, older_than_ms=older_than_ms
            )
        except TableStoreError as error:
            errors.append(error)  # a damaged table keeps its files, and the others go on
            continue
        count += len(found)
        size_bytes += sum(status.size for status in found)
    if not is_dry_run:
        warehouse.staging.remove_leftovers()
    if errors:
        raise errors[0]
    return pa.table(
        {"deletedFileCount": [count], "deletedFileTotalLenInBytes": [size_bytes]},
        schema=_ORPHAN_RESULT,
    )


def _tables(
    context: ProcedureContext, arguments: Arguments
) -> tuple[Callable[[], ManagedTable], ...]:
    """Return what loads the table named, or with `namespace.*` each table of a namespace."""
    name = arguments.text("table").strip()
    if not name.endswith(".*"):
        return (partial(context.table, arguments),)
    namespace = parse_table_name(
        name[:-2], catalog=context.catalog_name, namespace=context.catalog_name
    ).name
    records = context.lifecycle.warehouse.records(namespace, [RelationKind.TABLE])
    return tuple(partial(context.lifecycle.load, record.identifier) for record in records)


def _repair(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    table = context.table(arguments)
    repair = find_repair(context.open(table))
    if not arguments.optional_bool("dry_run"):
        if repair is not None:
            repair.run()
        context.recache(table)
    found = () if repair is None else (repair,)
    return pa.table(
        {name: [getattr(r, name) for r in found] for name in _REPAIR_RESULT.names},
        schema=_REPAIR_RESULT,
    )


FILE_PROCEDURES: Final = (
    Procedure(
        name="compact",
        description="Merges all files of a table, or of some partitions, bucket by bucket.",
        parameters=(
            TABLE_PARAMETER,
            optional_parameter(
                "partitions",
                STRING,
                "Partitions like 'p=0,q=1;p=2': ',' is and, ';' is or. All by default.",
            ),
        ),
        result=COMPACTION_RESULT,
        run=_compact,
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
            optional_parameter(
                "older_than",
                STRING,
                "Timestamp; younger files are kept, for a running statement may have written "
                "them. By default one day ago, the latest without force; with force none is kept.",
            ),
            optional_parameter("dry_run", BOOLEAN, "Only count, remove nothing. False by default."),
            optional_parameter(
                "force",
                BOOLEAN,
                "Remove younger files, too: only while nothing writes. False by default.",
            ),
        ),
        result=_ORPHAN_RESULT,
        run=_remove_orphan_files,
    ),
    Procedure(
        name="repair",
        description="Goes on without snapshots that are lost or damaged; tells what it gives "
        "up for that.",
        parameters=(
            TABLE_PARAMETER,
            optional_parameter("dry_run", BOOLEAN, "Only tell, change nothing. False by default."),
        ),
        result=_REPAIR_RESULT,
        run=_repair,
    ),
)
