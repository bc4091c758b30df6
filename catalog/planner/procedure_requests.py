"""Requests about stored procedures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Final

from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.definition.sql_literal import string_literal
from table_store.catalog.errors import ProcedureNotFoundError
from table_store.catalog.planner.jobs.flush import flush
from table_store.catalog.planner.jobs.sync_database import sync_database
from table_store.catalog.planner.meta_service.consistency_requests import pin
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.procedures import (
    CallProcedure,
    DescribedProcedure,
    ListProcedures,
    LoadProcedure,
    ProcedureNames,
    ProcedureParameter,
    ProcedureResult,
)
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.partition_values import stated_partition
from table_store.catalog.planner.revision.revise import revise
from table_store.catalog.planner.write.maintenance import compact_table
from table_store.catalog.planner.write.transfer import export_table, import_table
from table_store.catalog.shown.procedure import Procedure
from table_store.catalog.shown.procedure_context import ProcedureContext
from table_store.catalog.shown.procedures import PROCEDURE_NAMESPACE, PROCEDURES
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.storage.kernel.arrow_types import from_arrow
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import StructField, StructType
from table_store.storage.log_store.logged_table import open_logged

_DATA_EXCEPTION: Final = "22"
"""Beginning of the SQLSTATE of a text that Spark cannot cast."""


def list_procedures(session: PlannerSession, request: ListProcedures) -> ProcedureNames:
    """All procedures, whichever namespace the user asks for; they are in one namespace."""
    return ProcedureNames(namespace=PROCEDURE_NAMESPACE, names=tuple(PROCEDURES))


def load_procedure(session: PlannerSession, request: LoadProcedure) -> DescribedProcedure:
    """A procedure's description and parameters.

    Raises:
        ProcedureNotFoundError: there is none of that name.
    """
    procedure = _find(request.procedure)
    return DescribedProcedure(
        description=procedure.description,
        parameters=tuple(
            ProcedureParameter(
                name=parameter.name,
                type=json.dumps(parameter.type.to_json()),
                default=parameter.default,
                description=parameter.description,
            )
            for parameter in procedure.parameters
        ),
    )


def call_procedure(session: PlannerSession, request: CallProcedure) -> ProcedureResult:
    """Run a procedure; return its result rows and their columns."""
    procedure = _find(request.procedure)
    access = CatalogAccess.of(session, request.procedure.catalog)

    def compact(table: ManagedTable, partition: Mapping[str, str]) -> Mapping[str, int]:
        name = (access.name, table.identifier.namespace, table.identifier.name)
        constants = [(column, string_literal(text)) for column, text in partition.items()]
        try:
            values = stated_partition(session, name, table.schema, constants)
        except CapturedException as error:
            if not str(error.getSqlState()).startswith(_DATA_EXCEPTION):
                raise
            spec = ",".join(f"{column}={text}" for column, text in partition.items())
            reason = "a value is none of its column's type"
            raise InvalidOptionError(key="partitions", value=spec, reason=reason) from error
        opened, shown = open_logged(table.location), table.identifier.text
        return compact_table(session, opened, table.schema, values, name=shown)

    context = ProcedureContext(
        lifecycle=access.lifecycle,
        catalog_name=access.name,
        namespace=session.namespace_in(access.name),
        time_zone=session.conf("spark.sql.session.timeZone") or "UTC",
        compact=compact,
        await_jobs=lambda: int(session.bridge.Jobs.awaitAll()),
        flush=partial(flush, session, request.procedure.catalog),
        import_table=partial(import_table, session, access),
        export_table=partial(export_table, session, access),
        pin=partial(pin, session, access.warehouse),
        recache=lambda table: session.recache(
            (access.name, table.identifier.namespace, table.identifier.name)
        ),
        revise=partial(revise, session, request.procedure.catalog),
        sync_database=partial(sync_database, session, access),
    )
    rows = procedure.call(context, request.arguments)
    fields = tuple(StructField(name=f.name, type=from_arrow(f.type)) for f in rows.schema)
    return ProcedureResult(
        schema=SparkColumns(json.dumps(StructType(fields).to_json())), rows=arrow_answer(rows)
    )


def _find(name: RelationReference) -> Procedure[ProcedureContext]:
    found = PROCEDURES.get(name.name) if name.namespace == (PROCEDURE_NAMESPACE,) else None
    if found is None:
        raise ProcedureNotFoundError(
            name=name.name, namespace=".".join(name.namespace), catalog=name.catalog.name
        )
    return found
