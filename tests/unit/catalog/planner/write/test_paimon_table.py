"""Goal: each type of Paimon's becomes one of ours or is refused by name, and work is shared."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

from table_store.catalog.errors import ImportFailedError
from table_store.catalog.planner.write.paimon_source import shared
from table_store.catalog.planner.write.paimon_table import PaimonSplit, PaimonTable
from table_store.storage.kernel.errors import LibraryNotInstalledError, UnsupportedTypeError


def table(*types: Any, **more: Any) -> PaimonTable:
    fields = [
        {"id": i, "name": f"c{i}", "type": kind, "description": f"comment {i}"}
        for i, kind in enumerate(types)
    ]
    schema = {"fields": fields, "primaryKeys": [], "partitionKeys": [], **more}
    return PaimonTable("/w/t", json.dumps(schema))


@pytest.mark.parametrize(
    ("given", "expected", "is_nullable"),
    [
        ("BOOLEAN", "BOOLEAN", True),
        ("TINYINT NOT NULL", "TINYINT", False),
        ("SMALLINT", "SMALLINT", True),
        ("INT NOT NULL", "INT", False),
        ("BIGINT", "BIGINT", True),
        ("FLOAT", "FLOAT", True),
        ("DOUBLE", "DOUBLE", True),
        ("DECIMAL(38, 18)", "DECIMAL(38,18)", True),
        ("STRING", "STRING", True),
        ("VARCHAR(7)", "STRING", True),
        ("BYTES", "BINARY", True),
        ("VARBINARY(9)", "BINARY", True),
        ("DATE", "DATE", True),
        ("TIMESTAMP(6)", "TIMESTAMP_NTZ", True),
        ("TIMESTAMP(3) WITH LOCAL TIME ZONE NOT NULL", "TIMESTAMP", False),
        ({"type": "ARRAY", "element": "INT NOT NULL"}, "ARRAY<INT>", True),
        ({"type": "MAP NOT NULL", "key": "INT", "value": "DATE"}, "MAP<INT, DATE>", False),
        (
            {"type": "ROW", "fields": [{"id": 9, "name": "x", "type": "INT NOT NULL"}]},
            "STRUCT<x: INT NOT NULL>",
            True,
        ),
    ],
)
def test_types(given: Any, expected: str, is_nullable: bool) -> None:
    (column,) = table(given).definition.columns
    assert column.type.sql_name().replace("decimal", "DECIMAL") == expected
    assert (column.nullable, column.comment) == (is_nullable, "comment 0")


@pytest.mark.parametrize(
    "given",
    [
        "TIMESTAMP(9)",
        "TIMESTAMP(9) WITH LOCAL TIME ZONE",
        "TIME(9)",
        "VARIANT",
        "BLOB",
        {"type": "MULTISET", "element": "INT"},
        {"type": "ARRAY", "element": "VECTOR<FLOAT, 3>"},
    ],
)
def test_types_that_are_refused(given: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="'c1'"):
        table("INT", given).definition  # noqa: B018


def test_what_the_table_says_is_taken_over() -> None:
    said = table("INT NOT NULL", "DATE", primaryKeys=["c0", "c1"], partitionKeys=["c1"], comment="")
    definition = said.definition
    assert definition.primary_key == ("c0", "c1")
    assert definition.partition_keys == ("c1",)
    assert definition.comment is None


@pytest.mark.parametrize("schema", ["", "[]", "{}", '{"fields": [{"name": "a"}]}'])
def test_other_json_is_refused(schema: str) -> None:
    with pytest.raises(ImportFailedError, match="schema cannot be read"):
        PaimonTable("/w/t", schema).definition  # noqa: B018


def test_the_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypaimon_rust.datafusion", None)
    with pytest.raises(LibraryNotInstalledError, match=r"spark-table-store\[paimon\]"):
        table("INT").splits()


def test_work_is_shared_evenly() -> None:
    splits = [PaimonSplit(bytes([i]), rows) for i, rows in enumerate((90, 10, 20, 30, 40))]
    groups = shared(splits, 2)
    assert sorted(sum(split.rows for split in group) for group in groups) == [90, 100]
    assert sorted(split.text for group in groups for split in group) == [s.text for s in splits]
    assert len(shared(splits, 9)) == 5
    assert shared([], 3) == []
