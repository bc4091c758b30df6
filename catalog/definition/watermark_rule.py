"""What the expression of a watermark may name."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from table_store.catalog.definition.declared_settings import is_quoted_as_usual
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidSchemaError


def check_watermark(schema: TableSchema) -> None:
    """Return quietly if the watermark follows from columns that the table has.

    An expression that Spark alone can read is taken as it is.

    Raises:
        InvalidSchemaError: it names another column.
    """
    if schema.watermark is None:
        return
    column, expression = schema.watermark
    if not is_quoted_as_usual(expression):
        return
    try:
        query = sqlglot.parse_one(f"SELECT\n{expression.text}", dialect="spark")
    except SqlglotError:
        return
    if query.find(exp.Lambda):
        return  # the name may be that of the function's own argument
    known = {field.name.lower() for field in schema.fields}
    for reference in query.find_all(exp.Column):
        name = reference.parts[0].name
        if name.lower() not in known:
            reason = f"its watermark is {expression.text}, and there is no column {name!r}"
            raise InvalidSchemaError(reason=reason, column=column)
