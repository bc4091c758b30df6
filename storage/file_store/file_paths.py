"""Where files lie, for all files of a table at once."""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.file_io.path import check_name
from table_store.storage.file_store.file_groups import bucket_numbers
from table_store.storage.file_store.live_files import LiveFiles
from table_store.storage.file_store.manifest_entry import python_values
from table_store.storage.file_store.partition_path import bucket_path

_PLAIN_NAME: Final = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,199}$"


def paths_in_table(live: LiveFiles) -> pa.ChunkedArray:
    """Return what follows the table's path in each file's, a slash first.

    Raises:
        PathNotAllowedError: the name of a file, read from a manifest, is no plain file name.
    """
    names = live.entries["name"]
    odd = pc.invert(pc.match_substring_regex(names, _PLAIN_NAME))
    for name in names.filter(odd).to_pylist():
        check_name(name)
    _, first, buckets = np.unique(
        bucket_numbers(live.entries, live.schema), return_index=True, return_inverse=True
    )
    keys = live.schema.partition_keys
    of_bucket = live.entries.take(pa.array(first))
    partitions = [python_values(of_bucket[f"partition_{i}"]) for i in range(len(keys))]
    folders = [
        bucket_path("", keys, partition, bucket)
        for *partition, bucket in zip(*partitions, of_bucket["bucket"].to_pylist(), strict=True)
    ]
    return pc.binary_join_element_wise(
        pa.array(folders, pa.string()).take(pa.array(buckets)), names, "/"
    )
