"""What a query may call if its result is to be kept: the same rows have to give the same result."""

from __future__ import annotations

from typing import Final

from table_store.catalog.jobs.job_errors import UnsupportedQueryError
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.materialized_views import QueryFacts

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
        "string_agg",
    )
)
_OF_THE_SESSION: Final = frozenset(
    (
        "current_catalog",
        "current_database",
        "current_schema",
        "current_user",
        "input_file_name",
        "session_user",
        "user",
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
    if not facts.is_deterministic:
        raise UnsupportedQueryError(reason="it calls a function that is not deterministic")
    for functions, reason in (
        (_ORDER_DEPENDENT, "its result depends on an order of rows that nothing gives"),
        (_OF_THE_SESSION, "its result depends on the session that runs the query"),
    ):
        found = sorted(functions.intersection(facts.functions))
        if found:
            raise UnsupportedQueryError(reason=f"it calls {found[0]}, and {reason}")
    for source in facts.sources:
        if not isinstance(source.handle, TableHandle):
            name = source.relation.text
            raise UnsupportedQueryError(reason=f"it reads {name}, which is no table with changes")


def function_of_time(facts: QueryFacts) -> str | None:
    """Return a function that a query calls and whose value is another one later; None for none."""
    return min(_OF_THE_TIME.intersection(facts.functions), default=None)
