"""Which manifests a scan of some partitions reads, and that nothing is lost by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store.storage.file_store.metadata.manifest_file import ManifestCache, MetadataReader
from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.scan.partition_pruning import read_pruned
from table_store.storage.file_store.scan.pruning import prune
from table_store.storage.kernel.errors import MissingFileError
from table_store.storage.kernel.predicate import (
    And,
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Predicate,
)
from table_store.storage.kernel.types import DOUBLE, LONG, STRING
from table_store.storage.kernel.values import Value
from tests.fakes.metadata_table import MetadataTable, add, make_file

NAN = float("nan")

SCHEMA = new_schema(
    fields=[
        Field(id=0, name="d", type=STRING),
        Field(id=0, name="x", type=DOUBLE),
        Field(id=0, name="v", type=LONG),
    ],
    partition_keys=["d", "x"],
    time_ms=0,
)

PARTITIONS: tuple[tuple[Value, ...], ...] = (
    ("a", 1.0),
    ("b", 2.0),
    ("b", NAN),
    (None, 4.0),
    ("c", None),
    ("c", 5.0),
)

PREDICATES: tuple[Predicate, ...] = (
    Comparison("d", "=", "b"),
    Comparison("D", "!=", "b"),
    Comparison("d", ">=", "b"),
    Comparison("d", "<=>", "c"),
    IsNull("d"),
    Not(IsNull("x")),
    IsNotNull("x"),
    In("d", ("a", "c")),
    Comparison("x", ">", 2.0),
    Comparison("x", "=", NAN),
    Not(Comparison("x", "<", 4.0)),
    And(Comparison("d", "=", "b"), Comparison("v", ">", 3)),
    Or(Comparison("d", "=", "a"), Comparison("x", "=", 5.0)),
    Or(Comparison("d", "=", "a"), Comparison("v", "=", 5)),
)


@pytest.fixture
def table(tmp_path: Path) -> MetadataTable:
    """A file in each partition, each in a manifest of its own."""
    made = MetadataTable(str(tmp_path / "t"), SCHEMA).create()
    files = [make_file(f"f{i}", partition=p) for i, p in enumerate(PARTITIONS)]
    for file in files:
        made.commit.commit(add(file), kind=CommitKind.APPEND, commit_user=file.name)
    return made


def _reader(table: MetadataTable) -> MetadataReader:
    return MetadataReader(file_io=table.io, table_path=table.path, cache=ManifestCache())


@pytest.mark.parametrize("predicate", PREDICATES, ids=repr)
def test_the_same_files_as_of_all_manifests(table: MetadataTable, predicate: Predicate) -> None:
    """NULL and NaN in partitions, and conditions on other columns, included."""
    latest = table.snapshots.latest()
    found = read_pruned(_reader(table), latest, SCHEMA, predicate)
    assert found.names() == prune(table.live(), predicate).names()
    assert found.snapshot_id == table.live().snapshot_id


def test_other_partitions_manifests_are_not_read(table: MetadataTable) -> None:
    """They may be gone: of six, a condition on one partition needs one."""
    manifests = sorted(Path(table.path, "manifest").glob("manifest-[!l]*"))
    assert len(manifests) == len(PARTITIONS)
    kept = 0
    for manifest in manifests:
        away = manifest.rename(manifest.with_name("away"))
        try:
            found = read_pruned(
                _reader(table), table.snapshots.latest(), SCHEMA, Comparison("d", "=", "a")
            )
        except MissingFileError:
            kept += 1
        else:
            assert found.names() == ["f0"]
        away.rename(manifest)
    assert kept == 1


def test_before_any_commit(tmp_path: Path) -> None:
    """There are no files, whatever is asked for."""
    table = MetadataTable(str(tmp_path / "t"), SCHEMA).create()
    assert read_pruned(_reader(table), None, SCHEMA, PREDICATES[0]).file_count == 0
