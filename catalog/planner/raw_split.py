"""Which files Spark's own Parquet reader can read, without a Python worker."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from table_store.storage.file_store.data_file_writer import ROW_GROUP_ROWS_MAX
from table_store.storage.file_store.schema import TableSchema
from table_store.storage.file_store.split import Split
from table_store.storage.file_store.table import FileStoreTable


class StoredColumns:
    """Decides for one scan; a schema that files were written with is judged once."""

    def __init__(self, table: FileStoreTable, schema: TableSchema, columns: Sequence[str]) -> None:
        self._table = table
        self._schema = schema
        self._columns = columns
        self._are_stored = set(columns) <= set(schema.column_names)
        self._judged: dict[int, bool] = {}

    def can_read(self, split: Split) -> bool:
        """Whether Spark finds the columns asked for in the split's files as they are.

        Of a split that needs a merge Spark must be told which rows of the files are live.
        """
        return self._are_stored and all(
            file.format == "parquet" and self._readable(file.schema_id) for file in split.files
        )

    def _readable(self, schema_id: int) -> bool:
        if schema_id not in self._judged:
            written = self._table.schema_store.get(schema_id)
            self._judged[schema_id] = written.id == self._schema.id or all(
                _is_same_column(written, self._schema, name) for name in self._columns
            )
        return self._judged[schema_id]


def byte_ranges(*, row_count: int, size_bytes: int, target_bytes: int) -> Iterator[tuple[int, int]]:
    """(start, length) of the parts in which several tasks read a file.

    Spark's reader takes the row groups whose middle lies in its part: there are no more parts
    than full row groups.
    """
    groups = -(-row_count // ROW_GROUP_ROWS_MAX)
    parts = max(1, min(groups, -(-size_bytes // max(1, target_bytes))))
    bounds = [size_bytes * i // parts for i in range(parts + 1)]
    yield from ((start, end - start) for start, end in pairwise(bounds))


def _is_same_column(written: TableSchema, schema: TableSchema, name: str) -> bool:
    """Whether matching by name, as Spark does, finds what matching by id would."""
    field = schema.field_named(name)
    old = written.field_with_id(field.id)
    if old is None:
        is_name_free = all(other.name.lower() != name.lower() for other in written.fields)
        return is_name_free and field.initial_default is None
    return old.name == field.name and old.type == field.type
