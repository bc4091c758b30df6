"""Requests of Spark's declarative pipelines, which write a view by a TRUNCATE and an append.

The bridge lets such a TRUNCATE wait for its append; then what differs is one commit, or none, so
that readers never see the view empty and what stands on it stays incremental.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from table_store.catalog.names.identifier import quoted, quoted_parts
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE, changes, inserts
from table_store.catalog.planner.names.managed_table import refuse_derived
from table_store.catalog.planner.names.opened_table import opened_table
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.writes import (
    CanAwaitRows,
    ReplaceRows,
    Write,
    WriteMode,
    WrittenRows,
)
from table_store.catalog.planner.write.write_requests import write_with


def can_await_rows(session: PlannerSession, request: CanAwaitRows) -> bool:
    """Whether a pipeline's TRUNCATE may wait for its append.

    Not if streams write the table: these may have nothing to append. Nor if it has a key, because
    rows with the same key replace each other.

    Raises:
        MaterializedViewError: the table is a materialized view with a query of its own.
    """
    opened = opened_table(request.table)
    refuse_derived(opened.schema, opened.name, "TRUNCATE")
    latest = opened.table.latest_snapshot()
    return latest is not None and not latest.commit_identifiers and not opened.schema.primary_key


def replace_rows(session: PlannerSession, request: ReplaceRows, data: Any) -> WrittenRows:
    """Commit the difference between a table's rows and those of a query.

    `data` is the JVM's `WriteQuery`. Rows that stay are not written, and without a difference
    there is no snapshot.

    Raises:
        CommitConflictError: somebody else changed the table meanwhile.
    """
    handle, relation = request.table.table_handle, request.table.relation
    identifier = relation.identifier
    assert identifier is not None, "a pipeline's table has a name"
    names, new = handle.written, DataFrame(data.frame(), session.spark)
    if handle.snapshot_id is None:
        rows = inserts(new, names)
    else:
        table = quoted_parts((relation.catalog.name, identifier.namespace, identifier.name))
        columns = ", ".join(map(quoted, names))
        before = session.spark.sql(
            f"SELECT {columns} FROM {table} VERSION AS OF {handle.snapshot_id}"
        )
        rows = changes([(new, 1), (before, -1)], names)
    target = replace(handle, written=tuple(rows.columns), change_type_column=CHANGE_TYPE)
    write = Write(
        table=replace(request.table, handle=target),
        mode=WriteMode.APPEND,
        options=request.options,
        # With a command, a commit of others since the snapshot is a conflict.
        command="REFRESH",
    )
    return write_with(session, write, session.bridge.JobQuery.written(rows._jdf), {}).written
