"""Goal: changes become the messages that Debezium's readers expect."""

from __future__ import annotations

import json

import pyarrow as pa

from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.kernel.types import LONG, STRING
from table_store.storage.log_store.encoding.debezium_json import encode_changes

FIELDS = (Field(id=1, name="id", type=LONG, nullable=False), Field(id=2, name="v", type=STRING))


def schema(*key: str) -> TableSchema:
    return new_schema(fields=FIELDS, primary_key=key, time_ms=0)


def changes(*rows: tuple[str, int, str | None]) -> pa.Table:
    kinds, ids, values = zip(*rows, strict=True)
    return pa.table({"id": pa.array(ids, pa.int64()), "v": values, "_change_type": kinds})


ALL = changes(
    ("insert", 1, "a"),
    ("update_preimage", 1, "a"),
    ("update_postimage", 1, None),
    ("delete", 2, "gone"),
)


def test_messages_are_as_flink_and_debezium_write_them() -> None:
    messages = encode_changes(ALL, schema("id"))
    assert messages.keys is not None
    assert messages.keys.to_pylist() == [b'{"id":1}', b'{"id":1}', b'{"id":2}']
    assert [json.loads(value) for value in messages.values.to_pylist()] == [
        {"before": None, "after": {"id": 1, "v": "a"}, "op": "c"},
        {"before": {"id": 1, "v": "a"}, "after": {"id": 1, "v": None}, "op": "u"},
        {"before": {"id": 2, "v": "gone"}, "after": None, "op": "d"},
    ]


def test_without_its_preimage_an_update_is_a_new_row() -> None:
    (value,) = encode_changes(changes(("update_postimage", 1, "b")), schema("id")).values
    assert json.loads(value.as_py()) == {"before": None, "after": {"id": 1, "v": "b"}, "op": "c"}


def test_without_key_there_is_none() -> None:
    assert encode_changes(changes(("insert", 1, "b")), schema()).keys is None
