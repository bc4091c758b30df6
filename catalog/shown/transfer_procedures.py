"""Procedures that bring rows in from other formats, and take them out again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pyarrow as pa

from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.shown.procedure import (
    TABLE_PARAMETER,
    Arguments,
    Procedure,
    ProcedureParameter,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import (
    ExportTarget,
    ImportSource,
    ProcedureContext,
)
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import STRING

FORMATS: Final = ("parquet", "delta")
SOURCE_FORMATS: Final = (*FORMATS, "paimon")

_IMPORT_RESULT: Final = pa.schema(
    [("table", pa.string()), ("snapshot_id", pa.int64()), ("rows", pa.int64())]
)
_EXPORT_RESULT: Final = pa.schema(
    [
        ("path", pa.string()),
        ("snapshot_id", pa.int64()),
        ("files", pa.int64()),
        ("rows", pa.int64()),
    ]
)


def _import(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    identifier = parse_table_name(
        arguments.text("table"), catalog=context.catalog_name, namespace=context.namespace
    )
    done = context.import_table(
        ImportSource(
            format=_format(arguments, SOURCE_FORMATS),
            path=arguments.text("path"),
            identifier=identifier,
            primary_key=_names(arguments, "primary_key"),
            partitioned_by=_names(arguments, "partitioned_by"),
        )
    )
    found = [[str(identifier)], [done.snapshot_id], [done.rows]]
    return pa.table(found, schema=_IMPORT_RESULT)


def _export(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    path = arguments.text("path")
    target = ExportTarget(format=_format(arguments, FORMATS), path=path)
    table = context.table(arguments)
    done = context.export_table(table, target, arguments.optional_text("version"))
    found = [[path], [done.snapshot_id], [done.files], [done.rows]]
    return pa.table(found, schema=_EXPORT_RESULT)


def _format(arguments: Arguments, formats: Sequence[str]) -> str:
    text = arguments.text("format").strip().lower()
    if text not in formats:
        reason = f"it is one of {', '.join(formats)}"
        raise InvalidOptionError(key="format", value=text, reason=reason)
    return text


def _names(arguments: Arguments, name: str) -> tuple[str, ...] | None:
    text = arguments.optional_text(name)
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _required(name: str, description: str) -> ProcedureParameter:
    return ProcedureParameter(name=name, type=STRING, is_required=True, description=description)


TRANSFER_PROCEDURES: Final = (
    Procedure(
        name="import",
        description="Makes a managed table with the rows of a table or folder of another format.",
        parameters=(
            _required("format", "parquet, delta or paimon."),
            _required("path", "Its folder."),
            _required("table", "The new table, as table or namespace.table."),
            optional_parameter(
                "primary_key",
                STRING,
                "Columns like 'a,b'. Those of the Paimon table by default; '' means none.",
            ),
            optional_parameter(
                "partitioned_by",
                STRING,
                "Columns like 'a,b'. Those of the Delta or Paimon table by default; '' means none.",
            ),
        ),
        result=_IMPORT_RESULT,
        run=_import,
    ),
    Procedure(
        name="export",
        description="Writes a version of a table as files of another format, with a manifest.",
        parameters=(
            TABLE_PARAMETER,
            _required("format", "parquet or delta."),
            _required("path", "A folder that does not exist yet."),
            optional_parameter("version", STRING, "A snapshot or a tag. The latest by default."),
        ),
        result=_EXPORT_RESULT,
        run=_export,
    ),
)
