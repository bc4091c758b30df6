"""Goal: a statement or a compaction that is refused leaves no file, as the planner runs them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.protocol.writes import Write, WriteMode
from table_store.catalog.planner.write.maintenance import compact_table
from table_store.catalog.planner.write.write_requests import write
from table_store.storage.file_store.expiry.orphan_files import find_orphan_files
from table_store.storage.file_store.model.errors import CommitConflictError
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.ids import RandomIds
from tests.unit.catalog.planner.keyed_table import keyed_table, session_without_spark
from tests.unit.catalog.planner.references import reference

NEVER_YOUNG = 1 << 50
SESSION = session_without_spark("refused")


class KnownRows:
    """A write's query whose rows are known to the JVM."""

    def rows(self, _: int) -> bytes:
        rows = pa.record_batch({"id": pa.array([1, 9], pa.int64())})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as stream:
            stream.write_batch(rows)
        return bytes(sink.getvalue())


@pytest.fixture
def table(tmp_path: Path) -> FileStoreTable:
    return keyed_table(tmp_path, commits=2)


def orphans(table: FileStoreTable) -> list[str]:
    found = find_orphan_files(
        table.file_io, table.path, table.schema_store, older_than_ms=NEVER_YOUNG
    )
    return [status.name for status in found]


def request(table: FileStoreTable, mode: WriteMode, *predicates: SparkExpression) -> Write:
    """A statement that has read the first snapshot."""
    handle = TableHandle(path=table.path, schema_id=0, snapshot_id=1, written=("id",))
    return Write(table=reference(handle), options={}, mode=mode, predicates=predicates)


ID_ABOVE_0 = SparkExpression(
    {"name": ">", "children": [{"column": ["id"]}, {"literal": "0", "type": '"long"'}]}
)


@pytest.mark.parametrize(
    ("mode", "predicates"),
    [
        (WriteMode.OVERWRITE, ()),
        (WriteMode.OVERWRITE_DYNAMIC, ()),
        (WriteMode.OVERWRITE, (ID_ABOVE_0,)),
    ],
    ids=["overwrite", "dynamic", "replace where"],
)
def test_a_refused_statement_leaves_no_file(
    table: FileStoreTable, mode: WriteMode, predicates: tuple[SparkExpression, ...]
) -> None:
    with pytest.raises(CommitConflictError):
        write(SESSION, request(table, mode, *predicates), KnownRows())
    assert orphans(table) == []
    assert table.scan().count() == 2


def test_the_same_statement_leaves_its_rows_where_nobody_is_in_the_way(
    table: FileStoreTable,
) -> None:
    assert write(SESSION, request(table, WriteMode.APPEND), KnownRows()).rows == 2
    assert sorted(table.scan().to_arrow()["id"].to_pylist()) == [1, 2, 9]


def test_a_compaction_that_gives_way_leaves_no_file(table: FileStoreTable) -> None:
    class Interfering(RandomIds):
        done = False

        def unique(self) -> str:
            if not self.done:
                self.done = True
                table.compact()
            return super().unique()

    with pytest.raises(CommitConflictError):
        compact_table(SESSION, replace(table, ids=Interfering()), table.schema, {}, name="t")
    assert orphans(table) == []
    assert table.scan().count() == 2
