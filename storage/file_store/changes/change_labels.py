"""The columns of a change row that say what happened, by which commit, and when."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.changes.change_rows import (
    CHANGE_COLUMN,
    VERSION_COLUMN,
    ChangeKind,
)
from table_store.storage.kernel.frozen_map import FrozenMap

CHANGE_TYPE: Final = "_change_type"
COMMIT_VERSION: Final = "_commit_version"
COMMIT_TIMESTAMP: Final = "_commit_timestamp"
ROW_KIND: Final = "rowkind"

LABELS: Final[Mapping[str, pa.DataType]] = FrozenMap(
    {
        CHANGE_TYPE: pa.string(),
        COMMIT_VERSION: pa.int64(),
        COMMIT_TIMESTAMP: pa.timestamp("us", "UTC"),
        ROW_KIND: pa.string(),
    }
)
"""Name and type of each: the first three are Spark's (`Changelog`), the last is Paimon's."""

CHANGE_LABELS: Final = (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)

_TEXTS: Final[Mapping[str, Mapping[ChangeKind, str]]] = FrozenMap(
    {
        CHANGE_TYPE: FrozenMap((kind, kind.name.lower()) for kind in ChangeKind),
        ROW_KIND: FrozenMap(
            {
                ChangeKind.INSERT: "+I",
                ChangeKind.DELETE: "-D",
                ChangeKind.UPDATE_PREIMAGE: "-U",
                ChangeKind.UPDATE_POSTIMAGE: "+U",
            }
        ),
    }
)


def labelled(rows: pa.Table, times_ms: Mapping[int, int], wanted: Collection[str]) -> pa.Table:
    """Return change rows with the wanted labels instead of kind and version.

    Args:
        rows: change rows, as `change_rows.emitted` returns them.
        times_ms: when each version was committed.
        wanted: names of labels; other names are ignored.
    """
    kinds, versions = rows[CHANGE_COLUMN].to_numpy(), rows[VERSION_COLUMN]
    answer = rows.drop_columns([CHANGE_COLUMN, VERSION_COLUMN])
    for name in LABELS:
        if name not in wanted:
            continue
        if name in _TEXTS:
            texts = pa.array([_TEXTS[name][kind] for kind in ChangeKind])
            column = texts.take(pa.array(kinds))
        elif name == COMMIT_VERSION:
            column = versions
        else:
            column = _times(versions.to_numpy(), times_ms)
        answer = answer.append_column(name, column)
    return answer


def _times(versions: np.ndarray, times_ms: Mapping[int, int]) -> pa.Array:
    known = np.array(sorted(times_ms), np.int64)
    micros = np.array([times_ms[version] * 1000 for version in known.tolist()], np.int64)
    at = np.searchsorted(known, versions)
    return pa.array(micros[at], LABELS[COMMIT_TIMESTAMP])
