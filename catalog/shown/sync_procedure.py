"""CALL sys.sync_database."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

import pyarrow as pa

from table_store.catalog.shown.procedure import (
    Arguments,
    Procedure,
    ProcedureParameter,
    optional_parameter,
)
from table_store.catalog.shown.procedure_context import ProcedureContext, SyncRequest
from table_store.storage.kernel.types import BOOLEAN, STRING

_RESULT: Final = pa.schema(
    [("table", pa.string()), ("job", pa.string()), ("state", pa.string()), ("reason", pa.string())]
)


def _sync_database(context: ProcedureContext, arguments: Arguments) -> pa.Table:
    request = SyncRequest(
        source=context.named(arguments.text("source")),
        namespace=arguments.text("namespace"),
        including=arguments.optional_text("including_tables"),
        excluding=arguments.optional_text("excluding_tables"),
        adds_columns=bool(arguments.optional_bool("add_columns")),
    )
    found = context.sync_database(request)
    return pa.Table.from_pylist([asdict(table) for table in found], schema=_RESULT)


SYNC_PROCEDURES: Final = (
    Procedure(
        name="sync_database",
        description="Makes a table and a streaming job for each table of a database.",
        parameters=(
            ProcedureParameter(
                name="source",
                type=STRING,
                is_required=True,
                description="A table with the connector mysql-cdc; its options say which database "
                "and which tables.",
            ),
            ProcedureParameter(
                name="namespace",
                type=STRING,
                is_required=True,
                description="Where the tables are made; it is created if it is not there.",
            ),
            optional_parameter("including_tables", STRING, "A pattern of names; all by default."),
            optional_parameter("excluding_tables", STRING, "A pattern of names; none by default."),
            optional_parameter(
                "add_columns",
                BOOLEAN,
                "Whether tables get columns that the database's tables have got; no by default.",
            ),
        ),
        result=_RESULT,
        run=_sync_database,
    ),
)
