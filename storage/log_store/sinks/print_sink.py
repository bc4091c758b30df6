"""`'connector' = 'print'`: each change becomes a line, such as `+I[1, tea]`.

The lines are those of Flink's connector of this name: `+I` a new row, `-U` and `+U` a row before
and after an update, `-D` a deleted row. Nested values are shown as JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.change_rows import ChangeKind
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.log_store.encoding.json_encoding import NULL, TEXT, concat_text
from table_store.storage.log_store.encoding.plain_text import plain_text
from table_store.storage.log_store.sinks.sink import changed_rows
from table_store.storage.log_store.sinks.standard_streams import STREAMS
from table_store.storage.options.options import OptionScope
from table_store.storage.options.print_options import PRINT_IDENTIFIER, STANDARD_ERROR
from table_store.storage.options.table_options import TABLE_OPTIONS

_SIGNS: Final = {
    ChangeKind.INSERT: "+I[",
    ChangeKind.DELETE: "-D[",
    ChangeKind.UPDATE_PREIMAGE: "-U[",
    ChangeKind.UPDATE_POSTIMAGE: "+U[",
}
_KINDS: Final = pa.array([kind.name.lower() for kind in _SIGNS])


@dataclass(frozen=True, slots=True)
class PrintSink:
    """Shows changes in the standard output of the driver.

    Attributes:
        prefix: of each line.
        is_error: whether they go to standard error.
        forgets: see `Sink`; an update shows the row from before it.
    """

    prefix: str
    is_error: bool
    forgets: bool = False

    @classmethod
    def of(cls, schema: TableSchema) -> PrintSink:
        """Return the sink of a table with this definition."""
        options = TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE)
        identifier = options.get(PRINT_IDENTIFIER)
        prefix = f"{identifier}> " if identifier else ""
        return cls(prefix=prefix, is_error=options.get(STANDARD_ERROR))

    def check_ready(self) -> None:
        """See `Sink`."""

    def deliver(self, table: FileStoreTable, snapshots: Sequence[Snapshot]) -> None:
        """See `Sink`."""
        write = STREAMS.error if self.is_error else STREAMS.output
        for snapshot in snapshots:
            for batch in changed_rows(table, snapshot):
                write("".join(change_lines(batch, self.prefix).to_pylist()))


def change_lines(changes: pa.RecordBatch, prefix: str) -> pa.LargeStringArray:
    """Return a line for each change; the kind of a change is the last column."""
    *columns, kinds = changes.columns
    signs = pa.array([prefix + sign for sign in _SIGNS.values()], TEXT)
    parts: list[pa.Array | pa.Scalar] = [signs.take(pc.index_in(kinds, _KINDS))]
    for place, column in enumerate(columns):
        if place:
            parts.append(pa.scalar(", ", TEXT))
        parts.append(plain_text(column).fill_null(NULL))
    return concat_text(*parts, pa.scalar("]\n", TEXT))
