"""Goal: records become the changes that a loop over them finds, and the rows that these leave.

Oracle: Python's json, and a dictionary that takes one record after the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.connectors.formats.message_formats import JsonFormat
from table_store.catalog.connectors.kafka.envelope_rows import EnvelopeRows
from table_store.catalog.connectors.kafka.newest_rows import newest_rows
from table_store.catalog.connectors.kafka.record_formats import (
    BadRecord,
    KeyedRows,
    RecordFormat,
    ValueRows,
)
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.types import LONG, STRING
from table_store.storage.log_store.kafka.record_decoding import Records

ID = Field(id=0, name="id", type=LONG, nullable=False)
NAME = Field(id=1, name="name", type=STRING)
KEYED = KeyedRows(JsonFormat((ID,)), JsonFormat((ID, NAME)))


def records(*pairs: tuple[bytes | None, bytes | None]) -> Records:
    """Records with keys and values, whose offsets have gaps."""
    return Records(
        offsets=np.arange(len(pairs), dtype=np.int64) * 3 + 10,
        times_ms=np.zeros(len(pairs), np.int64),
        keys=pa.array([key for key, _ in pairs], pa.large_binary()),
        values=pa.array([value for _, value in pairs], pa.large_binary()),
        headers=None,
    )


def changes(
    form: RecordFormat, given: Records, names: Sequence[str] = ("id", "name")
) -> tuple[list[tuple[object, ...]], dict[int, str]]:
    """Orders with rows, rising by their amounts, and why records are none, by offset."""
    found: list[tuple[object, ...]] = []
    bad = {}
    for part in form.rows(given, names):
        if isinstance(part, BadRecord):
            bad[part.offset] = part.reason
            continue
        assert part.orders is not None
        columns = [part.columns[name].to_pylist() for name in names]
        found += zip(part.orders.tolist(), *columns, strict=True)
        assert len(part.records) == len(part.orders)
    return sorted(found, key=lambda row: abs(int(str(row[0])))), bad


def test_keyed_records_are_upserts_and_deletes() -> None:
    given = records(
        (b'{"id": 1}', b'{"id": 1, "name": "a"}'),
        (b'{"id": 2}', None),
        (None, b'{"id": 3, "name": "c"}'),
        (b"{", b'{"id": 4, "name": "d"}'),
        (b'{"id": null}', None),
        (b'{"id": 5}', b'{"name": 5}'),
        (b'{"id": 1}', b'{"name": null}'),
    )
    rows, bad = changes(KEYED, given)
    assert rows == [(11, 1, "a"), (-14, 2, None), (29, 1, None)]
    assert list(bad) == [16, 19, 22, 25]
    assert bad[16] == "it has no key"
    assert bad[19].startswith("its key: ")
    assert bad[22] == "its key: column id is NOT NULL, and has no value"


def test_a_record_without_value_is_no_new_row() -> None:
    given = records((None, b'{"id": 1}'), (None, None), (None, b"x"))
    found = list(ValueRows(JsonFormat((ID, NAME))).rows(given, ["id"]))
    assert not isinstance(found[0], BadRecord)
    assert (found[0].records.offsets.tolist(), found[0].orders) == ([10], None)
    assert found[1] == BadRecord(16, "it is no JSON object")


@given(
    st.lists(st.tuples(st.integers(0, 5), st.none() | st.text(max_size=3)), max_size=40),
    st.integers(1, 7),
)
def test_the_newest_rows_are_those_of_a_dictionary(
    writes: list[tuple[int, str | None]], size: int
) -> None:
    given = records(
        *(
            (
                b'{"id": %d}' % key,
                None if name is None else json.dumps({"id": key, "name": name}).encode(),
            )
            for key, name in writes
        )
    )
    expected: dict[int, str | None] = {}
    for key, name in writes:
        expected.pop(key, None)
        if name is not None:
            expected[key] = name

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, len(writes), size):
            part = given.slice(first, min(size, len(writes) - first))
            for rows in KEYED.rows(part, ["id", "name"]):
                assert not isinstance(rows, BadRecord)
                columns = {name: rows.columns[name] for name in ("id", "name")}
                yield pa.RecordBatch.from_pydict({**columns, CHANGE_ORDER: pa.array(rows.orders)})

    for held_min in (1, 1 << 18):
        found = [
            row for batch in newest_rows(batches(), ("id",), held_min) for row in batch.to_pylist()
        ]
        assert len(found) == len(expected)
        assert {row["id"]: row["name"] for row in found} == expected


def envelope(before: object, after: object, op: object, **more: object) -> bytes:
    return json.dumps({"before": before, "after": after, "op": op, **more}).encode()


PLAIN = EnvelopeRows((ID, NAME), JsonFormat)
WRAPPED = EnvelopeRows((ID, NAME), JsonFormat, has_schema=True)


def test_envelopes_are_changes() -> None:
    a, b = {"id": 1, "name": "a", "other": [{}]}, {"id": 1, "name": "b"}
    values = [
        envelope(None, a, "c", source={"ts_ms": 5}),
        envelope(a, b, "u"),
        None,
        envelope(b, None, "d"),
        envelope(None, {"id": 2}, "r"),
    ]
    expected = [
        (22, 1, "a"),
        (-27, 1, "a"),
        (28, 1, "b"),
        (-39, 1, "b"),
        (46, 2, None),
    ]
    assert changes(PLAIN, records(*((None, value) for value in values))) == (expected, {})
    wrapped = [
        value and b'{"schema": {"type": "struct"}, "payload": %s}' % value for value in values
    ]
    assert changes(WRAPPED, records(*((b"k", value) for value in wrapped))) == (expected, {})
    (found,) = PLAIN.rows(records((None, values[0])), [])
    assert not isinstance(found, BadRecord)
    assert len(found.records) == 1


def test_what_is_no_change_is_named() -> None:
    row = {"id": 1, "name": "a"}
    given = records(
        (None, envelope(None, row, "c")),
        (None, envelope(None, row, "u")),
        (None, envelope(row, None, "c")),
        (None, envelope(row, row, "t")),
        (None, envelope(row, row, None)),
        (None, b'{"id": 1, "name": "a"}'),
        (None, b"[1]"),
        (None, envelope(None, {"name": "a"}, "c")),
        (None, envelope(None, {"id": "x"}, "c")),
        (None, envelope(row, None, "d")),
    )
    rows, bad = changes(PLAIN, given)
    assert rows == [(22, 1, "a"), (-75, 1, "a")]
    assert sorted(bad) == [13, 16, 19, 22, 25, 28, 31, 34]
    assert bad[13] == "it has no 'before', which its op needs"
    assert bad[16] == "it has no 'after', which its op needs"
    assert {bad[19], bad[22], bad[25]} == {"its op is none of c, r, u and d"}
    assert bad[31] == "column id of 'after' is NOT NULL, and has no value"


ROWS = st.dictionaries(st.sampled_from("xyz"), st.none() | st.integers(0, 3), max_size=3)


@given(st.lists(st.tuples(ROWS, ROWS, st.sampled_from("cru dt"))))
def test_envelopes_are_those_of_a_loop(written: list[tuple[object, object, str]]) -> None:
    """Whatever they hold, and however many of them are bad."""
    fields = tuple(Field(id=n, name=name, type=LONG) for n, name in enumerate("xyz"))
    values = [envelope(before or None, after or None, op) for before, after, op in written]
    expected: list[tuple[object, ...]] = []
    for place, value in enumerate(values):
        item, order = json.loads(value), 2 * (place * 3 + 10)
        before, after, op = item["before"], item["after"], item["op"]
        if op not in "crud" or (op in "ud" and not before) or (op in "cru" and not after):
            continue
        if op in "ud":
            expected.append((-order - 1, *map(before.get, "xyz")))
        if op in "cru":
            expected.append((order + 2, *map(after.get, "xyz")))
    given = records(*((None, value) for value in values))
    assert changes(EnvelopeRows(fields, JsonFormat), given, "xyz")[0] == expected
