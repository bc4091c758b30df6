"""What a schema demands of rows: NOT NULL and CHECK."""

from __future__ import annotations

from table_store.storage.file_store.model.schema import TableSchema


def added_rule(older: TableSchema, newer: TableSchema) -> str | None:
    """Return a rule of a table that rows written under an older schema may break; else None.

    A column that is new is none: older rows have its default.
    """
    for field in newer.fields:
        before = older.field_with_id(field.id)
        if before is not None and before.nullable and not field.nullable:
            return f"NOT NULL at column {field.name!r}"
    known = {(check.name.lower(), check.since) for check in older.checks}
    for check in newer.checks:
        if (check.name.lower(), check.since) not in known:
            return f"the constraint {check.name!r}"
    return None
