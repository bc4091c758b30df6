"""Writes the manifests and the two manifest lists of one commit attempt."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import pyarrow as pa

from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.metadata.columnar_file import ContentKind, encode_columnar
from table_store.storage.file_store.metadata.live_files import manifests_of, read_entries
from table_store.storage.file_store.metadata.manifest_entry import without_empty_columns
from table_store.storage.file_store.metadata.manifest_file import (
    MANIFEST_FOLDER,
    MetadataReader,
    merge_entries,
    split_entries,
)
from table_store.storage.file_store.metadata.manifest_list import (
    ManifestMeta,
    describe_manifest,
    list_to_table,
    merge_min_count,
    pick_merge,
)
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.snapshot import Snapshot
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.ids import IdSource


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenManifests:
    """Names of the base and delta list, and the paths of all files that were written."""

    lists: tuple[str, str]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestWriter:
    """Writes all metadata files of an attempt together, so that the folder is synchronised once."""

    reader: MetadataReader
    ids: IdSource

    def write(
        self, base: Snapshot | None, delta: pa.Table, schema: TableSchema
    ) -> WrittenManifests:
        """Write manifests so that `base` changed by `delta` can be read; durable on return.

        Manifests of `base` are merged when `pick_merge` says so.

        Raises:
            FileAccessError: the store refused; what was written is deleted if possible.
        """
        unique = self.ids.unique()
        tables: dict[str, pa.Table] = {}
        files: dict[str, bytes] = {}

        def stage(entries: pa.Table) -> list[ManifestMeta]:
            metas = []
            for part in split_entries(entries, len(schema.partition_keys)):
                name = f"manifest-{unique}-{len(tables)}"
                table = without_empty_columns(part.combine_chunks())
                data = encode_columnar(table, ContentKind.MANIFEST)
                files[self._path(name)], tables[self._path(name)] = data, table
                metas.append(describe_manifest(name, table, size_bytes=len(data), schema=schema))
            return metas

        def stage_list(metas: Sequence[ManifestMeta], number: int) -> str:
            name = f"manifest-list-{unique}-{number}"
            table = list_to_table(metas, schema)
            files[self._path(name)] = encode_columnar(table, ContentKind.MANIFEST_LIST)
            tables[self._path(name)] = table
            return name

        delta_metas = stage(delta)
        base_metas: list[ManifestMeta] = []
        if base is not None:
            before, latest = manifests_of(self.reader, base)
            base_metas = [*before, *latest]
            merge = pick_merge(base_metas, merge_min_count(schema))
            if merge is not None:
                start, stop = merge
                entries = read_entries(
                    self.reader, base_metas[start:stop], schema, snapshot_id=base.id
                )
                base_metas[start:stop] = stage(merge_entries(entries, from_start=start == 0))
        written = WrittenManifests(
            lists=(stage_list(base_metas, 0), stage_list(delta_metas, 1)), paths=tuple(files)
        )
        try:
            self.reader.file_io.write_files(files)
        except TableStoreError:
            self.discard(written)
            raise
        for path, table in tables.items():
            self.reader.cache.decoded.put(path, table)
        return written

    def discard(self, written: WrittenManifests) -> None:
        """Delete the files of a failed attempt; one that stays becomes an orphan."""
        for path in written.paths:
            with suppress(TableStoreError):
                self.reader.file_io.delete(path)

    def _path(self, name: str) -> str:
        return join_path(self.reader.table_path, MANIFEST_FOLDER, name)
