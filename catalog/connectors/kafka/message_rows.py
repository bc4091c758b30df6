"""The rows of a topic's records, read in workers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa

from table_store.catalog.connectors.connector_errors import SourceTopicError
from table_store.catalog.connectors.dead_letters import DeadLetters
from table_store.catalog.connectors.kafka.kafka_connections import Brokers, connected
from table_store.catalog.connectors.kafka.record_formats import BadRecord, RecordFormat, RecordRows
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.catalog.connectors.positions.source_read import CHANGE_ORDER, SKIPPED
from table_store.storage.kernel.arrays import Mask
from table_store.storage.kernel.row_batch import batch_of
from table_store.storage.kernel.types import (
    BINARY,
    INTEGER,
    LONG,
    STRING,
    TIMESTAMP,
    DataType,
    MapType,
    to_arrow,
)
from table_store.storage.log_store.kafka.record_decoding import Records
from table_store.storage.log_store.log_errors import UnreadableRecordError

HEADERS: Final = "headers"
METADATA_TYPES: Final[Mapping[str, tuple[DataType, ...]]] = {
    "topic": (STRING,),
    "partition": (INTEGER,),
    "offset": (LONG,),
    "timestamp": (TIMESTAMP,),
    "key": (STRING, BINARY),
    HEADERS: (MapType(key=STRING, value=BINARY),),
}
"""What a column can hold of a record besides its value, and in which types."""

_ROWS: Final = 1 << 16
_BYTES: Final = 16 << 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """Records of a partition from one offset to before another one."""

    partition: int
    start: int
    end: int

    def to_bytes(self) -> bytes:
        """Return what a worker gets; `from_bytes` is the inverse."""
        return json.dumps([self.partition, self.start, self.end]).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> OffsetRange:
        """Return the range that `to_bytes` has written."""
        partition, start, end = json.loads(data)
        return cls(partition, start, end)


@dataclass(frozen=True, slots=True)
class MetadataColumn:
    """A column that holds something of a record besides its value."""

    name: str
    key: str
    type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageReader(PartReader):
    """Reads ranges of a topic as rows.

    Attributes:
        brokers: where the topic is.
        topic: its name.
        topic_id: the topic that is meant, should it be created anew.
        format: how a record holds its row.
        metadata: columns that hold something else.
        is_committed: whether records of aborted transactions are left out.
        skips_bad: whether records whose values are no rows are left out.
        skips_bad_keys: the same of keys.
        dead_letters: takes both; None: nothing does.
    """

    brokers: Brokers
    topic: str
    topic_id: str
    format: RecordFormat
    metadata: tuple[MetadataColumn, ...]
    is_committed: bool
    skips_bad: bool
    skips_bad_keys: bool
    dead_letters: DeadLetters | None = None

    def read(self, part: bytes, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of an `OffsetRange`, the same each time.

        Of changes there may also be `CHANGE_ORDER`, by the records' offsets.

        Raises:
            SourceTopicError, SourceTopicNotFoundError: it is another topic by now, or gone.
            RecordsGoneError: the topic has deleted a part of them.
            UnreadableRecordError: a record is no row, and these are not left out.
            TableStoreError: the table for these does not take it.
        """
        wanted = OffsetRange.from_bytes(part)
        by_name = {column.name: column for column in self.metadata}
        others = [by_name[name] for name in columns if name in by_name]
        names = [name for name in columns if name not in by_name and name != CHANGE_ORDER]
        skipped = 0
        letters = None if self.dead_letters is None else self.dead_letters.begin()
        has_text_keys = any(one.key == "key" and one.type == STRING for one in self.metadata)
        if letters is not None or self.skips_bad or self.skips_bad_keys:
            # Which records are bad does not depend on what a query reads.
            names = list(self.format.names)
        else:
            has_text_keys = any(one.key == "key" and one.type == STRING for one in others)
        for records in self._records(wanted, any(column.key == HEADERS for column in others)):
            bad: list[BadRecord] = []
            for found in self._found(records, names, has_text_keys=has_text_keys):
                if isinstance(found, BadRecord):
                    if letters is None:
                        self._check_skipped(wanted.partition, found)
                    bad.append(found)
                    continue
                arrays = dict(found.columns)
                if found.orders is not None:
                    arrays[CHANGE_ORDER] = pa.array(found.orders)
                for column in others:
                    arrays[column.name] = self._metadata(column, found.records, wanted.partition)
                yield batch_of({name: arrays[name] for name in columns}, len(found.records))
            skipped += len(bad)
            if letters is not None and bad:
                letters.add(self._letters(records, wanted.partition, bad))
        if letters is not None:
            letters.commit()
        if skipped:
            SKIPPED.add(skipped)
            _log.warning(
                "%d records of topic '%s', partition %d, offsets %d to %d, were left out, for they "
                "are no rows",
                skipped,
                self.topic,
                wanted.partition,
                wanted.start,
                wanted.end - 1,
            )

    def _found(
        self, records: Records, names: Sequence[str], *, has_text_keys: bool
    ) -> Iterator[RecordRows | BadRecord]:
        """Yield the rows of records; where keys are texts, those whose key is none are bad."""
        if has_text_keys:
            is_text = _are_texts(records.keys)
            for place in np.flatnonzero(~is_text):
                reason = "its key is no UTF-8, which a column of type STRING needs"
                yield BadRecord(int(records.offsets[place]), reason)
            if not is_text.all():
                records = records.taken(np.flatnonzero(is_text))
        yield from self.format.rows(records, names)

    def _records(self, wanted: OffsetRange, with_headers: bool) -> Iterator[Records]:
        """Yield the records, of many small batches together."""
        with connected(self.brokers, self.topic) as cluster:
            if cluster.topics.facts(self.topic).id != self.topic_id:
                raise SourceTopicError(topic=self.topic, reason="it was deleted and created again")
            held: list[Records] = []
            rows = size = 0
            for records in cluster.records.read(
                self.topic,
                wanted.partition,
                wanted.start,
                wanted.end,
                is_committed=self.is_committed,
                with_headers=with_headers,
            ):
                held.append(records)
                rows += len(records)
                size += records.values.nbytes
                if rows >= _ROWS or size >= _BYTES:
                    yield Records.joined(held)
                    held, rows, size = [], 0, 0
            if held:
                yield Records.joined(held)

    def _check_skipped(self, partition: int, bad: BadRecord) -> None:
        if not (self.skips_bad_keys if bad.is_key else self.skips_bad):
            raise UnreadableRecordError(
                topic=self.topic, partition=partition, offset=bad.offset, reason=bad.reason
            )

    def _letters(
        self, records: Records, partition: int, bad: Sequence[BadRecord]
    ) -> Mapping[str, pa.Array]:
        """Return bad ones of some records as the table for these has them."""
        reasons = {one.offset: one.reason for one in bad}  # a record may be bad twice
        offsets = np.array(sorted(reasons), np.int64)
        found = records.taken(np.searchsorted(records.offsets, offsets))
        return {
            "topic": pa.repeat(self.topic, len(found)),
            "partition": pa.repeat(partition, len(found)),
            "offset": pa.array(found.offsets),
            "timestamp": _times(found).cast(to_arrow(TIMESTAMP)),
            "key": found.keys,
            "value": found.values,
            "reason": pa.array([reasons[offset] for offset in offsets.tolist()], pa.string()),
        }

    def _metadata(self, column: MetadataColumn, records: Records, partition: int) -> pa.Array:
        kind, count = to_arrow(column.type), len(records)
        match column.key:
            case "topic":
                return pa.repeat(pa.scalar(self.topic, kind), count)
            case "partition":
                return pa.repeat(pa.scalar(partition, kind), count)
            case "offset":
                return pa.array(records.offsets, kind)
            case "timestamp":
                return _times(records).cast(kind)
            case "key" if column.type == STRING:
                return records.keys.cast(pa.binary()).cast(kind)
            case "key":
                return records.keys.cast(kind)
        return records.headers.cast(kind) if records.headers is not None else pa.nulls(count, kind)


def _times(records: Records) -> pa.Array:
    """Microseconds since 1970; NULL of records that have no time."""
    return pa.array(records.times_ms * 1000, mask=records.times_ms < 0)


def _are_texts(keys: pa.Array) -> Mask:
    """Which values are UTF-8, or NULL."""
    found = np.ones(len(keys), np.bool_)
    pending = [(0, len(keys))]
    while pending:
        first, count = pending.pop()
        try:
            keys.slice(first, count).cast(pa.large_binary()).cast(pa.large_string())
        except pa.ArrowInvalid:
            if count == 1:
                found[first] = False
            else:
                half = count // 2
                pending += [(first, half), (first + half, count - half)]
    return found
