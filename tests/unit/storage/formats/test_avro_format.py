"""Goal: Avro files hold the bytes that the Avro specification gives, and damage is noticed.

The examples of encodings are those of Avro 1.11's specification, "Binary Encoding".
"""

import io

import numpy as np
import pyarrow as pa
import pytest

from table_store.storage.formats.avro_encoding import avro_record, encoded_rows
from table_store.storage.formats.avro_format import AvroFormat, AvroFormatReader

MAP = pa.map_(pa.string(), pa.int64())


@pytest.mark.parametrize(
    ("field", "value", "encoded"),
    [
        (pa.field("c", pa.int64(), nullable=False), 0, "00"),
        (pa.field("c", pa.int64(), nullable=False), -1, "01"),
        (pa.field("c", pa.int64(), nullable=False), -64, "7f"),
        (pa.field("c", pa.int64(), nullable=False), 64, "8001"),
        (pa.field("c", pa.int64(), nullable=False), -(2**63), "ffffffffffffffffff01"),
        (pa.field("c", pa.string(), nullable=False), "foo", "06666f6f"),
        (pa.field("c", pa.string()), None, "00"),
        (pa.field("c", pa.string()), "a", "020261"),
        (pa.field("c", pa.bool_(), nullable=False), True, "01"),
        (pa.field("c", pa.float32(), nullable=False), 1.0, "0000803f"),
        (pa.field("c", pa.decimal128(5, 2), nullable=False), -1, "ff" * 15 + "9c"),
        (
            pa.field(
                "c", pa.list_(pa.field("element", pa.int64(), nullable=False)), nullable=False
            ),
            [3, 27],
            "04063600",
        ),
        (pa.field("c", pa.list_(pa.int64()), nullable=False), [], "00"),
        (pa.field("c", MAP, nullable=False), [("a", 1)], "02" + "0261" + "0202" + "00"),
        (
            pa.field(
                "c",
                pa.struct(
                    [
                        pa.field("a", pa.int64(), nullable=False),
                        pa.field("b", pa.string(), nullable=False),
                    ]
                ),
                nullable=False,
            ),
            {"a": 27, "b": "foo"},
            "3606666f6f",
        ),
    ],
)
def test_bytes_are_those_of_the_specification(field: pa.Field, value: object, encoded: str) -> None:
    column = pa.array([value, value], field.type)
    assert [row.hex() for row in encoded_rows([column], [field]).to_pylist()] == [encoded] * 2


def test_names_become_valid_and_stay_unique() -> None:
    fields = [pa.field("a b", pa.int64()), pa.field("a_b", pa.int64()), pa.field("1", pa.int64())]
    record = avro_record(fields, "row")
    assert isinstance(record, dict)
    assert [f["name"] for f in record["fields"]] == ["f0_a_b", "a_b", "f2_1"]


def written(rows: pa.Table, compression: str = "zstd") -> bytes:
    sink = io.BytesIO()
    writer = AvroFormat(compression).open_writer(sink, rows.schema, [])  # type: ignore[arg-type]
    writer.write(rows)
    writer.close()
    return sink.getvalue()


@pytest.mark.parametrize("compression", ["zstd", "none"])
def test_many_blocks_and_row_groups(compression: str) -> None:
    numbers = np.random.default_rng(1).integers(0, 5, 300_000)
    offsets = np.concatenate([[0], np.cumsum(numbers)]).astype(np.int32)
    items = pa.array(np.arange(offsets[-1]))
    rows = pa.table({"i": numbers, "l": pa.ListArray.from_arrays(offsets, items)})
    reader = AvroFormatReader(written(rows, compression))
    assert len(reader.row_group_rows) == 2
    assert reader.table([0, 1], [0, 1]).equals(rows)
    assert reader.table([1], [1]).equals(rows.select(["l"]).slice(reader.row_group_rows[0]))


def test_damage_is_noticed() -> None:
    rows = pa.table({"s": [f"text {i}" for i in range(300)], "l": [[i] * 2 for i in range(300)]})
    content = written(rows, "none")
    assert AvroFormatReader(content).table([0, 1], [0]).equals(rows)
    for position in (0, len(content) - 1):
        damaged = bytearray(content)
        damaged[position] ^= 0x55
        with pytest.raises((ValueError, OSError)):
            AvroFormatReader(bytes(damaged)).table([0, 1], [0])
    for length in (0, 3, 40, len(content) - 1):
        with pytest.raises(ValueError, match=r"too early|does not begin"):
            AvroFormatReader(content[:length])
