"""Which partitions of a folder a condition on rows leaves, by what stands in their paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time
from functools import partial
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.filesystem.taken_file import TakenFile, text_in_path
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.scan.pruning import (
    Bounds,
    conjuncts,
    evaluated,
    without_nan,
)
from table_store.storage.kernel.predicate import Predicate, conjunction
from table_store.storage.kernel.types import to_arrow


@dataclass(frozen=True, slots=True)
class PartitionFilter:
    """A condition on partition columns.

    Attributes:
        columns: those of which it knows something.
        predicate: must hold for each row that is wanted; None: all partitions are.
    """

    columns: tuple[Field, ...] = ()
    predicate: Predicate | None = None

    @classmethod
    def of(cls, partitions: Sequence[Field], predicate: Predicate | None) -> PartitionFilter:
        """Return what a condition on rows says of partitions alone."""
        names = {field.name.lower() for field in partitions}
        terms = () if predicate is None else conjuncts(predicate)
        kept = [term for term in terms if {name.lower() for name in term.columns()} <= names]
        return cls(tuple(partitions), conjunction(kept)) if kept else cls()

    @property
    def depth(self) -> int:
        """How many levels of folders it may leave some out of."""
        return len(self.columns)

    def folders(self, folders: Sequence[str]) -> list[str]:
        """Return those folders, by path, that may hold rows that are wanted, in their order.

        A folder whose path does not have a column, or has no value of it there, may hold any.
        """
        if self.predicate is None or not folders:
            return list(folders)
        split = [folder.split("/") for folder in folders]
        found = evaluated(self.predicate, partial(self._bounds, split), len(folders))
        return [folder for folder, keep in zip(folders, found.may_be_true, strict=True) if keep]

    def files(self, files: Sequence[TakenFile]) -> Sequence[TakenFile]:
        """Return those files that may have rows that are wanted, in their order."""
        if self.predicate is None:
            return files
        kept = set(self.folders(list({file.folder for file in files})))
        return [file for file in files if file.folder in kept]

    def _bounds(self, folders: Sequence[Sequence[str]], column: str) -> Bounds | None:
        field = next((one for one in self.columns if one.name.lower() == column.lower()), None)
        if field is None:
            return None
        kind = to_arrow(field.type)
        known: dict[str | None, pa.Scalar | None] = {}
        values, is_null, is_known = [], [], []
        for folder in folders:
            has_column, text = text_in_path(folder, field.name)
            if has_column and text not in known:
                known[text] = _value(text, kind)
            value = known[text] if has_column else None
            is_known.append(value is not None)
            values.append(None if value is None else value.as_py())
            is_null.append(value is not None and not value.is_valid)
        exact = pa.chunked_array([pa.array(values, kind)])
        certain, null = np.array(is_known, np.bool_), np.array(is_null, np.bool_)
        return without_nan(exact, exact, some_null=null | ~certain, some_value=~null)


NO_FILTER: Final = PartitionFilter()


def typed_value(text: str | None, kind: pa.DataType) -> pa.Scalar:
    """Return the value of a partition column whose text stands in a path.

    Raises:
        ValueError: it is none.
    """
    plain = pa.timestamp("us") if pa.types.is_timestamp(kind) else kind
    try:
        if pa.types.is_time(kind):  # Arrow has no cast of texts to it
            return pa.scalar(None if text is None else time.fromisoformat(text), kind)
        return pa.array([text], pa.string()).cast(plain).cast(kind)[0]
    except (pa.ArrowException, ValueError) as error:
        raise ValueError(f"{text!r} in its path is no value of the partition column") from error


def _value(text: str | None, kind: pa.DataType) -> pa.Scalar | None:
    try:
        return typed_value(text, kind)
    except ValueError:
        return None
