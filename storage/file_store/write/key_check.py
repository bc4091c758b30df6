"""Refuses rows of a statement that would share their key with another row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.bag.bag import KindArray
from table_store.storage.file_store.model.data_file import KIND_ADD, KIND_DELETE
from table_store.storage.file_store.model.errors import DuplicateKeyError
from table_store.storage.file_store.order.key_order import KeyOrder
from table_store.storage.file_store.scan.stored_keys import StoredKeys
from table_store.storage.kernel.values import Value, python_value

KIND_CLAIM: Final = 2
"""Kind of a row that is added under a key which may belong to a row that the statement has not
read. Such a row is stored as `KIND_ADD`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck:
    """What a writer checks of the keys of a statement; it is pickled for workers.

    No two rows may be added under one key. A claimed key must be deleted by the statement, too,
    or must not be among the `stored` ones; None: the table has no rows that count. Errors call
    the table `table`.
    """

    table: str
    stored: StoredKeys | None = None

    def settle(self, keys: pa.Table, kinds: KindArray, order: KeyOrder) -> KindArray:
        """Return the kind of the last row of each key; a claim of a deleted key is an addition.

        Args:
            keys: the key columns of rows of one bucket.
            kinds: of the rows.
            order: of the rows, deletions before other rows with their key.

        Raises:
            DuplicateKeyError: two rows are added under one key.
        """
        ordered = kinds[order.positions]
        last: KindArray = ordered[order.is_last]
        if len(last) == len(ordered):
            return last
        ends = np.flatnonzero(order.is_last)
        starts = np.concatenate([[0], ends[:-1] + 1])
        is_delete = ordered == KIND_DELETE
        deletes = np.add.reduceat(is_delete.astype(np.int64), starts)
        twice = np.flatnonzero(ends + 1 - starts - deletes > 1)
        if len(twice):
            at = int(order.positions[ends[twice[0]]])
            key = tuple(python_value(column[at]) for column in keys.columns)
            raise DuplicateKeyError(table=self.table, key=_named(keys, key), is_stored=False)
        last[(deletes > 0) & (last == KIND_CLAIM)] = KIND_ADD
        return last

    def look_up(
        self, keys: pa.Table, kinds: KindArray, *, partition: tuple[Value, ...], bucket: int
    ) -> KindArray:
        """Return the kinds as they are stored, after no claimed key was found among stored ones.

        Args:
            keys: the key columns of rows of one bucket, each key once.
            kinds: of the rows, as `settle` returns them.
            partition: the bucket's partition.
            bucket: its number.

        Raises:
            DuplicateKeyError: a claimed key is stored.
            MissingFileError, CorruptFileError: see `StoredKeys`.
        """
        is_claim = kinds == KIND_CLAIM
        if not is_claim.any():
            return kinds
        if self.stored is not None:
            claims = keys.filter(pa.array(is_claim))
            found = self.stored.first_among(claims, partition=partition, bucket=bucket)
            if found is not None:
                raise DuplicateKeyError(table=self.table, key=_named(keys, found), is_stored=True)
        return np.where(is_claim, np.int8(KIND_ADD), kinds)


def _named(keys: pa.Table, values: tuple[Value, ...]) -> dict[str, Value]:
    return dict(zip(keys.column_names, values, strict=True))
