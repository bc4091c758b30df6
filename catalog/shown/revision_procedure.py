"""CALL sys.revise."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import pyarrow as pa

from table_store.catalog.meta_service.revision import RevisionRequest
from table_store.catalog.shown.procedure import (
    TABLE_PARAMETER,
    Arguments,
    Procedure,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.storage.kernel.types import BOOLEAN, LONG, STRING

_RESULT: Final = pa.schema(
    [
        ("table", pa.string()),
        ("job", pa.string()),
        ("treatment", pa.string()),
        ("state", pa.string()),
        ("from_barrier", pa.int64()),
        ("from_snapshot", pa.int64()),
        ("rows_read", pa.int64()),
        ("barrier", pa.int64()),
        ("snapshot", pa.int64()),
        ("rows_changed", pa.int64()),
    ]
)


def _revise(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    request = RevisionRequest.of(
        arguments.optional_int("to_barrier"),
        arguments.optional_text("statement"),
        arguments.optional_text("mode"),
    )
    is_dry = arguments.optional_bool("dry_run") or False
    done = context.revise(context.table(arguments), request, is_dry=is_dry)
    return pa.Table.from_pylist([asdict(table) for table in done], schema=_RESULT)


REVISION_PROCEDURES: Final = (
    Procedure(
        name="revise",
        description="Corrects a table, and brings all that stands on it to one new barrier.",
        parameters=(
            TABLE_PARAMETER,
            optional_parameter("to_barrier", LONG, "The table becomes what it was there."),
            optional_parameter("statement", STRING, "DML that corrects the table."),
            optional_parameter(
                "mode", STRING, "'incremental', or 'full': what stands on it is computed anew."
            ),
            optional_parameter("dry_run", BOOLEAN, "Only tell what would be done."),
        ),
        result=_RESULT,
        run=_revise,
    ),
)
