"""Values of a `PARTITION (…)` clause, parsed and cast as in Spark's own partition statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.errors import IllegalArgumentException, ParseException

from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.read.internal_values import internal_value
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.values import Value


def stated_partition(
    session: PlannerSession,
    table: Sequence[str],
    schema: TableSchema,
    constants: Iterable[tuple[str, str]],
) -> dict[str, Value]:
    """Return the values that `PARTITION (column = constant, …)` states, by partition column.

    Spark itself parses the constants and casts them, as for DROP PARTITION: in the session's time
    zone, with CHAR padded. No query is run.

    Args:
        session: the session whose settings apply.
        table: catalog, namespace and name of a managed table.
        schema: of the table.
        constants: (column, SQL text of its constant); none for the whole table.

    Raises:
        InvalidSchemaError: the table has no partitions, or a text is no constant.
    """
    terms = ", ".join(f"{quoted(column)} = {sql}" for column, sql in constants)
    if not terms:
        return {}
    name = ".".join(map(quoted, table))
    state = session.spark._jsparkSession.sessionState()
    try:
        statement = state.sqlParser().parsePlan(f"SHOW PARTITIONS {name} PARTITION ({terms})")
    except (ParseException, IllegalArgumentException) as error:
        raise InvalidSchemaError(reason=f"({terms}) is no list of columns and constants") from error
    if not schema.partition_keys:
        raise InvalidSchemaError(reason="it has no partitions; leave PARTITION out")
    resolved = state.analyzer().execute(statement).pattern().get()
    row, names = resolved.ident(), resolved.names()
    fields = [schema.field_named(names.apply(i)) for i in range(names.length())]
    return {f.name: internal_value(_text(row.get(i, None)), f.type) for i, f in enumerate(fields)}


def _text(value: Any) -> str | None:
    """The text of a partition value, in the form that the bridge sends, too."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case bytes():
            return value.hex()
    return str(value)
