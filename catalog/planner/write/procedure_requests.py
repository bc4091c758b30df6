"""Requests about stored procedures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.partition_values import stated_partition
from table_store.catalog.planner.write.maintenance import compact_table
from table_store.catalog.shown.procedure import Procedure
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.catalog.shown.procedures import PROCEDURE_NAMESPACE, PROCEDURES
from table_store.catalog.tables.lifecycle import ManagedTable
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.types import StructField, StructType
from table_store.storage.log_store.logged_table import open_logged


def list_procedures(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """The procedures: all are in one namespace, and asking for any other shows them, too."""
    return {"namespace": PROCEDURE_NAMESPACE, "names": list(PROCEDURES)}


def load_procedure(session: PlannerSession, argument: Argument) -> dict[str, Any] | None:
    """A procedure's description and parameters; None where there is none of that name."""
    procedure = _find(argument)
    if procedure is None:
        return None
    return {
        "description": procedure.description,
        "parameters": [
            {
                "name": parameter.name,
                "type": json.dumps(parameter.type.to_json()),
                "default": parameter.default,
                "description": parameter.description,
            }
            for parameter in procedure.parameters
        ],
    }


def call_procedure(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """Run a procedure; its result rows, and their columns."""
    procedure = _find(argument)
    assert procedure is not None, "Spark loads a procedure before it calls it"
    access = CatalogAccess.of(session, argument)
    current_catalog, current_namespace = session.current()

    def compact(table: ManagedTable, partition: Mapping[str, str]) -> Mapping[str, int]:
        name = (access.name, table.identifier.namespace, table.identifier.name)
        constants = [(column, string_literal(text)) for column, text in partition.items()]
        values = stated_partition(session, name, table.schema, constants)
        return compact_table(session, open_logged(table.location), table.schema, values)

    context = ProcedureContext(
        lifecycle=access.lifecycle,
        catalog_name=access.name,
        namespace=current_namespace[0] if current_catalog == access.name else "default",
        time_zone=session.conf("spark.sql.session.timeZone") or "UTC",
        compact=compact,
    )
    rows = procedure.call(context, argument["arguments"])
    fields = tuple(StructField(name=f.name, type=from_arrow(f.type)) for f in rows.schema)
    return {**arrow_answer(rows), "schema": json.dumps(StructType(fields).to_json())}


def _find(argument: Argument) -> Procedure[ProcedureContext] | None:
    if argument["namespace"] != [PROCEDURE_NAMESPACE]:
        return None
    return PROCEDURES.get(argument["name"])
