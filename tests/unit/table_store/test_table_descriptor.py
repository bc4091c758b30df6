"""Goal: what the builder says is what the table is, with and without Spark's SQL."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import table_store
from table_store import TableDescriptor, connect
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidSchemaError,
    UnknownOptionError,
)
from table_store.storage.kernel.types import parse_type

ORDERS = (
    TableDescriptor.for_managed()
    .column("day", "DATE")
    .column("id", "bigint", comment="it's one")
    .column("amount", "DECIMAL(10, 2)", nullable=False, default="1.5")
    .primary_key("day", "id", constraint_name="pk")
    .partitioned_by("day")
    .option("bucket", "4")
    .comment("all 'orders'")
)


def test_front_door() -> None:
    assert table_store.TableDescriptor is TableDescriptor
    with pytest.raises(AttributeError, match="nothing"):
        table_store.nothing  # noqa: B018


def test_creates_a_table_without_spark(tmp_path: Path) -> None:
    table = connect(str(tmp_path)).create("orders", ORDERS).storage
    schema = table.schema
    assert [f.name for f in schema.fields] == ["day", "id", "amount"]
    assert [f.type.sql_name() for f in schema.fields] == ["DATE", "BIGINT", "DECIMAL(10,2)"]
    assert [f.nullable for f in schema.fields] == [False, False, False]
    assert (schema.primary_key, schema.partition_keys) == (("day", "id"), ("day",))
    assert (schema.comment, schema.constraint_name) == ("all 'orders'", "pk")
    assert schema.options["bucket"] == "4"
    rows = pa.table(
        {
            "day": pa.array([1, 1], pa.date32()),
            "id": pa.array([1, 1], pa.int64()),
            "amount": pa.array([1, 2], pa.decimal128(10, 2)),
        }
    )
    table.append(rows)
    assert table.scan().to_arrow()["amount"].to_pylist() == [2]
    with pytest.raises(AlreadyExistsError):
        connect(str(tmp_path)).create("default.orders", ORDERS)


def test_sql() -> None:
    sql = ORDERS.watermark("day", "day - INTERVAL 1 DAY").to_sql("sales.or`ders")
    assert sql == (
        "CREATE TABLE `sales`.`or``ders` (\n"
        "  `day` DATE,\n"
        "  `id` BIGINT COMMENT 'it\\'s one',\n"
        "  `amount` DECIMAL(10,2) NOT NULL DEFAULT 1.5,\n"
        "  WATERMARK FOR `day` AS day - INTERVAL 1 DAY,\n"
        "  CONSTRAINT `pk` PRIMARY KEY (`day`, `id`) NOT ENFORCED\n"
        ")\n"
        "COMMENT 'all \\'orders\\''\n"
        "PARTITIONED BY (`day`)\n"
        "WITH ('bucket' = '4')"
    )


def test_computed_and_nested() -> None:
    nested = parse_type({"type": "array", "elementType": "integer", "containsNull": True})
    sql = (
        TableDescriptor.for_managed()
        .column("ts", "TIMESTAMP")
        .column("many", nested)
        .computed_column("day", "STRING", "date_format(ts, 'yyyy-MM-dd')")
        .to_sql("t")
    )
    assert "`many` ARRAY<INT>" in sql
    assert "`day` STRING GENERATED ALWAYS AS (date_format(ts, 'yyyy-MM-dd'))" in sql


def test_builder_is_immutable() -> None:
    base = TableDescriptor.for_managed().column("a", "INT")
    assert base.option("bucket", "2") != base
    assert "WITH" not in base.to_sql("t")


def test_refused(tmp_path: Path) -> None:
    base = TableDescriptor.for_managed().column("a", "INT")
    with pytest.raises(InvalidSchemaError, match="nonsense"):
        base.column("b", "nonsense")
    with pytest.raises(UnknownOptionError, match="bucket"):
        connect(str(tmp_path)).create("t", base.option("bukket", "1"))
    with pytest.raises(InvalidSchemaError, match="missing"):
        connect(str(tmp_path)).create("t", base.primary_key("missing"))
    assert not (tmp_path / "default.db" / "t").exists()
