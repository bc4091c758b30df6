"""Reads only those manifests that can hold files of the partitions that a predicate selects.

A manifest list has the bounds of the partitions of each manifest, so a scan of some partitions does
not cost more in a larger table. All changes of one file are in one partition, so other partitions
can be left out before live files are computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa

from table_store.storage.file_store.metadata.live_files import (
    LiveFiles,
    live_files_of,
    manifests_of,
    read_entries,
)
from table_store.storage.file_store.metadata.manifest_file import MetadataReader
from table_store.storage.file_store.metadata.manifest_list import ManifestMeta
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.file_store.scan.pruning import (
    Bounds,
    conjuncts,
    evaluated,
    outcomes,
    prune,
    without_nan,
)
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.predicate import Predicate
from table_store.storage.kernel.types import to_arrow


def read_pruned(
    reader: MetadataReader,
    snapshot: Snapshot | None,
    schema: TableSchema,
    predicate: Predicate | None,
) -> LiveFiles:
    """Return the live files that a scan with this predicate must read, with bounds of its columns.

    The result is that of `prune` after `read_live_files`, but the manifests of other partitions
    are not read.

    Raises:
        MissingFileError: a list, or a manifest that is needed, does not exist.
        CorruptFileError: one of them is damaged.
    """
    if snapshot is None:
        return live_files_of(None, schema, None)
    names = set() if predicate is None else {name.lower() for name in predicate.columns()}
    stats_of = [field.id for field in schema.fields if field.name.lower() in names]
    terms = _partition_terms(predicate, schema)
    if terms:
        live = _read_live(reader, snapshot, schema, terms, stats_of)
    else:
        live = _remembered_live(reader, snapshot, schema, stats_of)
    return prune(live, predicate)


def _remembered_live(
    reader: MetadataReader, snapshot: Snapshot, schema: TableSchema, stats_of: Sequence[int]
) -> LiveFiles:
    """Return the live files of the whole table, from the cache if possible.

    A snapshot's place in the cache is the names of its lists, which are never used again.
    """
    lists = f"{snapshot.base_manifest_list}+{snapshot.delta_manifest_list}"
    name = f"{reader.table_path}/{lists}#{schema.id}#{stats_of}"
    entries = reader.cache.chosen.get(name)
    if entries is not None:
        return LiveFiles(snapshot_id=snapshot.id, schema=schema, entries=entries)
    live = _read_live(reader, snapshot, schema, (), stats_of)
    reader.cache.chosen.put(name, live.entries)
    return live


def _read_live(
    reader: MetadataReader,
    snapshot: Snapshot,
    schema: TableSchema,
    terms: Sequence[Predicate],
    stats_of: Sequence[int],
) -> LiveFiles:
    """Return the live files of the partitions that the terms select."""
    base, delta = manifests_of(reader, snapshot)
    manifests = [*base, *delta]
    for term in terms:
        manifests = _selected(manifests, schema, term)
    entries = read_entries(reader, manifests, schema, snapshot_id=snapshot.id, stats_of=stats_of)
    found = LiveFiles(snapshot_id=snapshot.id, schema=schema, entries=entries)
    for term in terms:
        found = found.select(outcomes(found, term).may_be_true) if found.file_count else found
    return live_files_of(snapshot.id, schema, found.entries)


def _partition_terms(predicate: Predicate | None, schema: TableSchema) -> tuple[Predicate, ...]:
    names = {name.lower() for name in schema.partition_keys}
    terms = () if predicate is None else conjuncts(predicate)
    return tuple(term for term in terms if {name.lower() for name in term.columns()} <= names)


def _selected(
    manifests: Sequence[ManifestMeta], schema: TableSchema, term: Predicate
) -> list[ManifestMeta]:
    bounds_of = partial(_bounds, manifests, schema)
    kept: Mask = evaluated(term, bounds_of, len(manifests)).may_be_true
    return [manifest for manifest, keep in zip(manifests, kept, strict=True) if keep]


def _bounds(manifests: Sequence[ManifestMeta], schema: TableSchema, column: str) -> Bounds:
    field = schema.field_named(column)
    place = schema.partition_keys.index(field.name)
    kind = to_arrow(field.type)
    low = pa.chunked_array([pa.array([m.partition_min[place] for m in manifests], kind)])
    high = pa.chunked_array([pa.array([m.partition_max[place] for m in manifests], kind)])
    return without_nan(
        low,
        high,
        some_null=np.array([m.partition_has_null[place] for m in manifests], np.bool_),
        some_value=low.is_valid().to_numpy(),
    )
