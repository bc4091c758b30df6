"""The paths of all files of a table, computed at once."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.path import check_name
from table_store.storage.file_store.metadata.live_files import LiveFiles
from table_store.storage.file_store.model.file_groups import Integers, bucket_numbers
from table_store.storage.file_store.model.partition_path import bucket_path
from table_store.storage.kernel.values import python_values

_PLAIN_NAME: Final = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$"


def paths_in_table(live: LiveFiles, rows: Integers) -> pa.Array:
    """Return the paths of these files without the table's path; each begins with a slash.

    Raises:
        PathNotAllowedError: the name of a file, read from a manifest, is no plain file name.
    """
    keys = live.schema.partition_keys
    columns = [*(f"partition_{i}" for i in range(len(keys))), "bucket", "name"]
    entries = live.entries.select(columns).take(pa.array(rows))
    names = entries["name"]
    odd = pc.invert(pc.match_substring_regex(names, _PLAIN_NAME))
    for name in names.filter(odd).to_pylist():
        check_name(name)
    _, first, buckets = np.unique(
        bucket_numbers(entries, live.schema), return_index=True, return_inverse=True
    )
    places = [python_values(column) for column in entries.take(pa.array(first)).columns[:-1]]
    folders = pa.array(
        [bucket_path("", keys, place[:-1], place[-1]) for place in zip(*places, strict=True)],
        pa.string(),
    )
    paths = pc.binary_join_element_wise(folders.take(pa.array(buckets)), names, "/")
    return paths.combine_chunks() if isinstance(paths, pa.ChunkedArray) else paths
