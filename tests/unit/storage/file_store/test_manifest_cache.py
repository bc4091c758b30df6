"""What a process remembers of manifests."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.storage.file_store.metadata.columnar_file import (
    ContentKind,
    decode_columnar,
    encode_columnar,
)
from table_store.storage.file_store.metadata.manifest_entry import entries_from_files
from table_store.storage.file_store.metadata.manifest_file import MANIFEST_FOLDER, ManifestCache
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.kernel.errors import MissingFileError
from tests.fakes.metadata_table import KEYLESS, MetadataTable, add, make_file

_ENOUGH = 1 << 20
_STATM = Path("/proc/self/statm")


@pytest.mark.parametrize(
    ("decoded", "stored", "is_remembered"),
    [(_ENOUGH, 0, True), (0, _ENOUGH, True), (100, _ENOUGH, True), (0, 0, False), (50, 50, False)],
)
def test_the_store_is_not_asked_twice(
    tmp_path: Path, decoded: int, stored: int, is_remembered: bool
) -> None:
    """Also for what is too large to be held decoded; each kind is held within its limit."""
    table = MetadataTable(str(tmp_path), KEYLESS).create()
    table.commit.commit(add(make_file("a.parquet")), kind=CommitKind.APPEND, commit_user="u")
    latest = table.snapshots.latest()
    assert latest is not None
    reader = replace(table.reader, cache=ManifestCache(decoded, stored))
    name = latest.delta_manifest_list
    first = reader.read(name, kind=ContentKind.MANIFEST_LIST)
    (tmp_path / MANIFEST_FOLDER / name).unlink()
    if is_remembered:
        assert reader.read(name, kind=ContentKind.MANIFEST_LIST).equals(first)
    else:
        with pytest.raises(MissingFileError):
            reader.read(name, kind=ContentKind.MANIFEST_LIST)


@pytest.mark.skipif(not _STATM.exists(), reason="the kernel tells a process's memory in /proc")
def test_many_small_manifests_take_no_more_memory_than_they_may() -> None:
    """A manifest of one file has 200 bytes of values, and takes a hundred times as much."""
    entries = entries_from_files(KEYLESS, added=[make_file("a.parquet")])
    data = encode_columnar(entries, ContentKind.MANIFEST)
    cache = ManifestCache(decoded_bytes_max=_ENOUGH)
    before = _resident_bytes()
    for number in range(4_000):
        name = str(number)
        cache.decoded.put(name, decode_columnar(data, path=name, kind=ContentKind.MANIFEST))
    assert cache.decoded.get("3999") == entries
    assert _resident_bytes() - before < 16 * _ENOUGH


def _resident_bytes() -> int:
    return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
