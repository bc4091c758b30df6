"""What a query means as long as its result is kept: the same rows have to give the same result."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from table_store.catalog.jobs.job_errors import UnsupportedQueryError
from table_store.catalog.planner.names.supposed_schema import supposed_schema
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.materialized_views import QueryFacts
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.log_store.logged_table import open_logged

# They depend on an order of rows that no query gives, though Spark calls them deterministic.
_ORDER_DEPENDENT: Final = frozenset(
    (
        "any_value",
        "array_agg",
        "collect_list",
        "first",
        "first_value",
        "last",
        "last_value",
        "listagg",
        "mode",
        "nth_value of tied rows",
        "string_agg",
    )
)
_OF_THE_SESSION: Final = frozenset(
    (
        "current_catalog",
        "current_database",
        "current_schema",
        "current_user",
        "session_user",
        "user",
    )
)
_OF_THE_LAYOUT: Final = frozenset(
    (
        "SPARK_PARTITION_ID",
        "TABLESAMPLE",
        "input_file_block_length",
        "input_file_block_start",
        "input_file_name",
        "monotonically_increasing_id",
    )
)
_OF_THE_TIME: Final = frozenset(
    (
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtimestamp",
        "now",
    )
)


def check_meaning(facts: QueryFacts) -> None:
    """Check that a query has one result over the same rows, whoever asks for it.

    Raises:
        UnsupportedQueryError: it has not, or it reads what has no changes.
    """
    for functions, reason in (
        (_ORDER_DEPENDENT, "its result depends on an order of rows that nothing gives"),
        (_OF_THE_SESSION, "its result depends on the session that runs the query"),
        (_OF_THE_LAYOUT, "its result depends on how rows are spread over files and tasks"),
    ):
        found = sorted(functions.intersection(facts.functions))
        if found:
            raise UnsupportedQueryError(reason=f"it has {found[0]}, and {reason}")
    if not facts.is_deterministic:
        raise UnsupportedQueryError(reason="it calls a function that is not deterministic")
    for source in facts.sources:
        if not isinstance(source.handle, TableHandle):
            name = source.relation.text
            raise UnsupportedQueryError(reason=f"it reads {name}, which is no table with changes")


def function_of_time(facts: QueryFacts) -> str | None:
    """Return a function that a query calls and whose value is another one later; None for none."""
    return min(_OF_THE_TIME.intersection(facts.functions), default=None)


def meaning_of(facts: QueryFacts, created: Mapping[str, int]) -> str:
    """Return what is the same as long as a query's plan and the columns that it uses are.

    `created` says when each table was created, by directory, ms since 1970.
    """
    used = []
    for number, source in enumerate(facts.sources):
        if isinstance(source.handle, TableHandle):
            fields = used_fields(facts, number, created)
            used.append([source.handle.path, *((f.id, f.type.sql_name()) for f in fields)])
    return hashlib.sha256(json.dumps([facts.plan, used]).encode()).hexdigest()[:32]


def used_fields(facts: QueryFacts, number: int, created: Mapping[str, int]) -> list[Field]:
    """Return the columns that a query uses of the source of a number."""
    schema = seen_schema(facts.sources[number].table_handle, created)
    names = schema.column_names
    return [schema.field_named(name) for name in facts.columns[number] if name in names]


def seen_schema(handle: TableHandle, created: Mapping[str, int]) -> TableSchema:
    """Return the schema with which a query sees a table, be it only supposed."""
    return supposed_schema(handle.path) or _schema(
        handle.path, created[handle.path], handle.schema_id
    )


@lru_cache(maxsize=1000)
def _schema(path: str, _: int, schema_id: int) -> TableSchema:
    """A schema of a table that was created at a time, which never changes."""
    return open_logged(path).schema_store.get(schema_id)
