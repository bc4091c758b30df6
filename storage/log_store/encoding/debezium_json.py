"""Changes of a table as Debezium JSON.

A message is `{"before":…,"after":…,"op":…}` without the envelope's schema, as Flink's
`debezium-json` reads and writes it. `op` is `c` (a new row), `u` (an update, with both rows) or
`d` (the deleted row). A log that keeps no rows from before an update writes it as `c`: a row that
replaces the one with the same key.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_store.changes.change_labels import CHANGE_TYPE
from table_store.storage.file_store.changes.change_rows import ChangeKind
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.whole_array import whole_array
from table_store.storage.log_store.encoding.json_encoding import (
    NULL,
    TEXT,
    concat_text,
    json_objects,
)

OPERATIONS: Final = pa.array(["c", "d"], TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMessages:
    """Messages of one snapshot and bucket, in order; `keys` is None for a table without key."""

    keys: pa.LargeBinaryArray | None
    values: pa.LargeBinaryArray

    def __len__(self) -> int:
        return len(self.values)

    def slice(self, start: int, length: int) -> LogMessages:
        """Return some of the messages, without copying them."""
        keys = None if self.keys is None else self.keys.slice(start, length)
        return LogMessages(keys=keys, values=self.values.slice(start, length))


def encode_changes(changes: pa.Table, schema: TableSchema) -> LogMessages:
    """Return one message for each change, in the order of the rows.

    Args:
        changes: the table's columns and `_change_type`. A preimage stands directly in front of
            its postimage, and both become one message. A postimage alone becomes a new row.
        schema: of the rows.
    """
    kinds = changes[CHANGE_TYPE].combine_chunks()
    columns = {name: whole_array(changes[name]) for name in schema.column_names}
    rows = json_objects(list(columns.values()), schema.column_names)
    names = [ChangeKind.DELETE, ChangeKind.UPDATE_PREIMAGE]
    gone = pc.is_in(kinds, pa.array([kind.name.lower() for kind in names]))
    is_preimage = _are(kinds, ChangeKind.UPDATE_PREIMAGE)
    null = pa.scalar(NULL, TEXT)
    before, after = pc.if_else(gone, rows, null), pc.if_else(gone, null, rows)
    operations = OPERATIONS.take(gone.cast(pa.int8()))
    keys = _keys(columns, schema)
    if is_preimage.any():
        is_update = np.concatenate([[False], is_preimage[:-1]])
        previous = rows.take(pa.array(np.maximum(np.arange(len(rows)) - 1, 0)))
        before = pc.if_else(pa.array(is_update), previous, before)
        operations = pc.if_else(pa.array(is_update), pa.scalar("u", TEXT), operations)
        kept = pa.array(~is_preimage)
        before, after, operations = (c.filter(kept) for c in (before, after, operations))
        keys = None if keys is None else keys.filter(kept)
    return LogMessages(
        keys=None if keys is None else keys.cast(pa.large_binary()),
        values=_envelopes(before, after, operations),
    )


def changed_values(rows: pa.LargeBinaryArray, gone: pa.BooleanArray) -> pa.LargeBinaryArray:
    """Return one value for each row that comes or goes, as Flink's `debezium-json` writes them.

    An update is two values there: `d` of the row from before, `c` of the one after it.
    """
    null, text = pa.scalar(NULL, TEXT), rows.cast(TEXT)
    before, after = pc.if_else(gone, text, null), pc.if_else(gone, null, text)
    return _envelopes(before, after, OPERATIONS.take(gone.cast(pa.int8())))


def _envelopes(before: pa.Array, after: pa.Array, operations: pa.Array) -> pa.LargeBinaryArray:
    return concat_text(
        pa.scalar('{"before":', TEXT),
        before,
        pa.scalar(',"after":', TEXT),
        after,
        pa.scalar(',"op":"', TEXT),
        operations,
        pa.scalar('"}', TEXT),
    ).cast(pa.large_binary())


def _keys(columns: dict[str, pa.Array], schema: TableSchema) -> pa.LargeStringArray | None:
    if not schema.primary_key:
        return None
    return json_objects([columns[name] for name in schema.primary_key], schema.primary_key)


def _are(kinds: pa.Array, kind: ChangeKind) -> npt.NDArray[np.bool_]:
    mask: npt.NDArray[np.bool_] = pc.equal(kinds, kind.name.lower()).to_numpy(zero_copy_only=False)
    return mask
