"""Goal: system tables tell the truth of a table, under Paimon's names, and no secrets."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

from table_store.catalog.definition.table_change import SetComment
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.shown.describe import describe_rows
from table_store.catalog.shown.system_tables import SYSTEM_TABLES
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_store.model.errors import SnapshotNotFoundError
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_expression import StoredExpression
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import InvalidSchemaError, NotFoundError
from table_store.storage.kernel.types import (
    BINARY,
    INTEGER,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
)

T = Identifier("default", "t")
PARTITIONED = TableDefinition(
    columns=(
        Field(id=0, name="p", type=STRING),
        Field(id=0, name="k", type=INTEGER),
        Field(id=0, name="v", type=BINARY),
    ),
    primary_key=("p", "k"),
    partition_keys=("p",),
    options={"bucket": "1", "log.kafka.sasl.password": "hush"},
)
PLAIN = TableDefinition(columns=(Field(id=0, name="a", type=INTEGER),))


def rows(
    name: str, table: FileStoreTable, snapshot_id: int | None = None
) -> list[dict[str, object]]:
    system_table = SYSTEM_TABLES[name]
    found = system_table.rows(table, snapshot_id=snapshot_id)
    assert found.schema == system_table.schema
    listed: list[dict[str, object]] = found.to_pylist()
    return listed


@pytest.fixture
def lifecycle(warehouse: Warehouse) -> TableLifecycle:
    return TableLifecycle(warehouse)


@pytest.fixture
def table(lifecycle: TableLifecycle) -> FileStoreTable:
    """Two commits to two partitions."""
    table = FileStoreTable.open(lifecycle.create(T, PARTITIONED).location)
    table.append(
        pa.table(
            {
                "p": ["a", "a", "b/c"],
                "k": pa.array([1, 2, 3], pa.int32()),
                "v": [b"x", None, b"\xff"],
            }
        )
    )
    table.append(pa.table({"p": ["a"], "k": pa.array([9], pa.int32()), "v": [b""]}))
    return table


@pytest.mark.parametrize("definition", [PARTITIONED, PLAIN], ids=["partitioned", "plain"])
def test_an_empty_table_has_no_rows_but_columns(
    lifecycle: TableLifecycle, definition: TableDefinition
) -> None:
    table = FileStoreTable.open(lifecycle.create(T, definition).location)
    for name in ("snapshots", "manifests", "files", "partitions", "buckets"):
        assert rows(name, table) == []
    assert [row["schema_id"] for row in rows("schemas", table)] == [0]


def test_a_table_without_key_and_partition(lifecycle: TableLifecycle) -> None:
    table = FileStoreTable.open(lifecycle.create(T, PLAIN).location)
    table.append(pa.table({"a": pa.array([1, 2], pa.int32())}))
    (file,) = rows("files", table)
    assert (file["partition"], file["min_key"], file["min_value_stats"]) == ("{}", None, "{a=1}")
    assert rows("partitions", table) == []
    (bucket,) = rows("buckets", table)
    assert (bucket["partition"], bucket["record_count"]) == ("{}", 2)


def test_snapshots(table: FileStoreTable) -> None:
    first, second = rows("snapshots", table)
    assert (first["snapshot_id"], second["snapshot_id"]) == (1, 2)
    assert (first["total_record_count"], first["delta_record_count"]) == (3, 3)
    assert (second["total_record_count"], second["delta_record_count"]) == (4, 1)
    assert first["commit_kind"] == "APPEND"
    snapshot = table.snapshot(version=1)
    assert snapshot is not None
    moment = first["commit_time"]
    assert isinstance(moment, dt.datetime)
    assert round(moment.timestamp() * 1000) == snapshot.time_ms


def test_schemas_and_options_hide_secrets(lifecycle: TableLifecycle, table: FileStoreTable) -> None:
    lifecycle.alter(T, [SetComment("new")])
    first, second = rows("schemas", table)
    assert (first["comment"], second["comment"]) == (None, "new")
    assert (first["partition_keys"], first["primary_keys"]) == ('["p"]', '["p", "k"]')
    assert '"name": "k"' in str(first["fields"])
    options = {row["key"]: row["value"] for row in rows("options", table)}
    assert options["bucket"] == "1"
    assert "hush" not in f"{options} {first} {second}"


def test_files(table: FileStoreTable) -> None:
    found = {(row["partition"], row["record_count"]): row for row in rows("files", table)}
    assert set(found) == {("{a}", 2), ("{a}", 1), ("{b/c}", 1)}
    file = found["{a}", 2]
    assert str(file["file_path"]).startswith(f"{table.path}/p=a/bucket-0/data-")
    assert (file["min_key"], file["max_key"]) == ("[a, 1]", "[a, 2]")
    assert file["null_value_counts"] == "{p=0, k=0, v=1}"
    assert file["min_value_stats"] == "{p=a, k=1, v=78}"
    assert (file["file_format"], file["level"], file["deleteRowCount"]) == ("parquet", 0, 0)
    assert "p=b%2Fc" in str(found["{b/c}", 1]["file_path"])


def test_files_of_a_snapshot(table: FileStoreTable) -> None:
    assert len(rows("files", table, 1)) == 2
    assert len(rows("files", table, 2)) == 3
    with pytest.raises(SnapshotNotFoundError):
        rows("files", table, 3)


def test_manifests_partitions_and_buckets(table: FileStoreTable) -> None:
    manifests = rows("manifests", table)
    assert sum(int(str(row["num_added_files"])) for row in manifests) == 3
    assert manifests[0]["min_partition_stats"] == "{a}"
    assert manifests[0]["max_partition_stats"] == "{b/c}"
    partitions = {row["partition"]: row for row in rows("partitions", table)}
    assert list(partitions) == ["p=a", "p=b%2Fc"]
    assert (partitions["p=a"]["record_count"], partitions["p=a"]["file_count"]) == (3, 2)
    buckets = [
        (row["partition"], row["bucket"], row["file_count"]) for row in rows("buckets", table)
    ]
    assert buckets == [("{a}", 0, 2), ("{b/c}", 0, 1)]


def test_columns_as_spark_reads_them() -> None:
    schema = SYSTEM_TABLES["snapshots"].spark_schema()
    fields = schema["fields"]
    assert isinstance(fields, list)
    assert fields[0] == {"name": "snapshot_id", "type": "long", "nullable": True, "metadata": {}}
    assert {f["name"]: f["type"] for f in fields}["commit_time"] == "timestamp"


def test_describe(table: FileStoreTable) -> None:
    found = {row.name: row.value for row in describe_rows(table)}
    assert list(found) == [
        "log.system",
        "log.kafka.bootstrap.servers",
        "log.retention",
        "file.path",
        "log.kafka.topic",
        "watermark",
        "file.format",
        "bucket",
        "change-tracking",
        "last-modified",
        "compacted",
        "num-files",
    ]
    assert found["file.path"] == table.path
    assert (found["bucket"], found["file.format"]) == ("1", "parquet")
    assert (found["compacted"], found["num-files"]) == ("false", "3")


def test_describe_a_partition(table: FileStoreTable) -> None:
    found = {row.name: row.value for row in describe_rows(table, partition={"p": "b/c"})}
    assert found["partition"] == "p=b%2Fc"
    assert found["file.path"] == f"{table.path}/p=b%2Fc"
    assert (found["compacted"], found["num-files"]) == ("true", "1")
    with pytest.raises(NotFoundError):
        describe_rows(table, partition={"p": "absent"})
    with pytest.raises(InvalidSchemaError, match="k"):
        describe_rows(table, partition={"k": "1"})


@pytest.mark.parametrize(
    ("kind", "shown"),
    [(TIMESTAMP, "2024-01-02 13:00:05.250"), (TIMESTAMP_NTZ, "2024-01-02 12:00:05.250")],
    ids=["timestamp", "wall time"],
)
def test_watermarks(lifecycle: TableLifecycle, kind: DataType, shown: str) -> None:
    """Of a time in UTC, shown in a zone one hour ahead; a time without zone is shown as it is."""
    definition = TableDefinition(
        columns=(Field(id=0, name="p", type=STRING), Field(id=0, name="ts", type=kind)),
        partition_keys=("p",),
        watermark=("ts", StoredExpression("ts - INTERVAL '5' SECOND")),
    )
    table = FileStoreTable.open(lifecycle.create(T, definition).location)

    def described(**partition: str) -> str | None:
        found = describe_rows(table, partition=partition, time_zone="Europe/Zurich")
        return {row.name: row.value for row in found}["watermark"]

    assert described() is None
    for name, second, microsecond in (("a", 10, 250_999), ("b", 7, 0)):
        moment = dt.datetime(2024, 1, 2, 12, 0, second, microsecond, dt.UTC)
        times = pa.array([moment], pa.timestamp("us", "UTC"))
        table.append(pa.table({"p": [name], "ts": times.cast(table_type(table))}))
    assert described() == described(p="a") == shown
    assert described(p="b") == shown.replace("05.250", "02.000")
    at_noon = 1_704_196_800_000
    assert [row["watermark"] for row in rows("snapshots", table)] == [at_noon + 5250] * 2
    assert {row["partition"]: row["watermark"] for row in rows("partitions", table)} == {
        "p=a": at_noon + 5250,
        "p=b": at_noon + 2000,
    }


def table_type(table: FileStoreTable) -> pa.DataType:
    return table.scan().to_arrow().schema.field("ts").type
