"""Goal: which records are no rows does not depend on the columns that somebody reads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from table_store import open_table
from table_store.catalog.connectors.dead_letters import OF_TOPICS, DeadLetters
from table_store.catalog.connectors.formats.message_formats import JsonFormat
from table_store.catalog.connectors.kafka.kafka_connections import Brokers
from table_store.catalog.connectors.kafka.message_rows import (
    MessageReader,
    MetadataColumn,
    OffsetRange,
)
from table_store.catalog.connectors.kafka.record_formats import ValueRows
from table_store.catalog.definition.table_definition import TableDefinition
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.types import LONG, STRING, TIMESTAMP
from table_store.storage.log_store.kafka.record_decoding import Records
from table_store.storage.log_store.log_errors import UnreadableRecordError

RECORDS = Records(
    offsets=np.array([5, 6, 7, 9]),
    times_ms=np.array([1, 2, -1, -1]),
    keys=pa.array([b"a", b"\xff", None, b"d"], pa.large_binary()),
    values=pa.array(
        [b'{"a":1,"s":"x"}', b'{"a":2,"s":"y"}', b'{"a":"x","s":"z"}', b'{"a":3,"s":"w"}'],
        pa.large_binary(),
    ),
    headers=None,
)
COLUMNS = (Field(id=0, name="a", type=LONG), Field(id=1, name="s", type=STRING))


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRecords(MessageReader):
    """Reads records that are at hand."""

    def _records(self, wanted: OffsetRange, with_headers: bool) -> Iterator[Records]:
        yield RECORDS


def reader(letters: DeadLetters | None, *, skips_bad: bool = False) -> HeldRecords:
    return HeldRecords(
        brokers=Brokers("b:1", ()),
        topic="t",
        topic_id="x",
        format=ValueRows(JsonFormat(COLUMNS)),
        metadata=(MetadataColumn("k", "key", STRING), MetadataColumn("at", "timestamp", TIMESTAMP)),
        is_committed=True,
        skips_bad=skips_bad,
        skips_bad_keys=False,
        dead_letters=letters,
    )


@pytest.mark.parametrize("columns", [[], ["a"], ["s"], ["k"], ["at", "k", "s", "a"]])
@pytest.mark.parametrize("has_letters", [False, True])
def test_bad_ones_are_so_for_all_who_read(
    tmp_path: Path, columns: list[str], has_letters: bool
) -> None:
    letters = None
    if has_letters:
        table = TableDefinition(columns=OF_TOPICS.fields(), primary_key=tuple(OF_TOPICS.key))
        letters = DeadLetters(str(tmp_path), OF_TOPICS)
        FileStoreTable.create(letters.path, table.schema(time_ms=0))
    whole = reader(letters, skips_bad=not has_letters)
    batches = list(whole.read(OffsetRange(0, 5, 10).to_bytes(), columns))
    time = datetime(1970, 1, 1, 0, 0, 0, 1000, UTC)
    good: list[dict[str, object]] = [
        {"at": time, "k": "a", "s": "x", "a": 1},
        {"at": None, "k": "d", "s": "w", "a": 3},
    ]
    assert sum(batch.num_rows for batch in batches) == len(good)
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert rows == [{name: row[name] for name in columns} for row in good]
    if letters is not None:
        found = open_table(letters.path).scan().to_arrow().sort_by("offset").to_pylist()
        assert [(one["offset"], one["timestamp"] is None) for one in found] == [
            (6, False),
            (7, True),
        ]
        assert "key is no UTF-8" in found[0]["reason"]


def test_without_such_a_table_the_record_is_named() -> None:
    asked = OffsetRange(0, 5, 10).to_bytes()
    with pytest.raises(UnreadableRecordError, match=r"offset 6.*its key is no UTF-8"):
        list(reader(None).read(asked, ["k"]))
    assert sum(batch.num_rows for batch in reader(None).read(asked, ["s"])) == len(RECORDS)
