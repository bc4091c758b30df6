"""Results that only grow, as sinks need them that take nothing but new rows."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame

from table_store.catalog.jobs.job_errors import RetractedRowsError, StreamingInsertError
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE
from table_store.catalog.planner.epochs.job_query import JobQuery
from table_store.storage.log_store.logged_table import open_logged

_JOINS: Final = frozenset(("Join Inner", "Join Cross"))


def check_append_only(query: JobQuery, sink_name: str, connector: str) -> None:
    """Check that new rows of its tables give a query new rows alone.

    Raises:
        StreamingInsertError: it is not so.
    """
    changing = query.stateful_besides(_JOINS)
    what = None if changing is None else f"{changing} changes rows that it has given out"
    for source in query.facts.sources:
        if source.table_handle.path in query.external:
            continue
        schema = open_logged(source.table_handle.path).schema
        if schema.primary_key or schema.query is not None:
            kind = "has a primary key" if schema.primary_key else "is a materialized view"
            what = what or f"{source.relation.text} {kind}, and its rows are replaced"
    if what is not None:
        raise StreamingInsertError(
            reason=f"{sink_name} has the connector {connector!r} and takes only new rows, but "
            + what,
            remedy="Create it with 'connector' = 'upsert-kafka' and the PRIMARY KEY of the result, "
            "whose records replace and delete each other by key"
            if connector == "kafka"
            else "Keep the result in a managed table, and write the rows of that by batch INSERTs",
        )


def appended_rows(query: JobQuery, changed: DataFrame, sink_name: str) -> DataFrame | None:
    """Changes of a result, none of which takes a row away; None if there are none.

    Raises:
        RetractedRowsError: one does.
    """
    known = query.settled(changed)
    if known is None or query.external:
        return known
    gone = known.where(f"{CHANGE_TYPE} = 'delete'").limit(1).collect()
    if gone:
        row = {name: value for name, value in gone[0].asDict().items() if name != CHANGE_TYPE}
        raise RetractedRowsError(sink=sink_name, row=str(row))
    return known
