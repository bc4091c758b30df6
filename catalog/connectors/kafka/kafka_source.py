"""`'connector' = 'kafka'` and `'upsert-kafka'`: the records of a topic as rows, or their changes.

Options, defaults and meanings are those of Flink's connector of this name, but for records of open
and aborted transactions: they are no rows unless 'properties.isolation.level' says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.asked_cuts import asked_cuts
from table_store.catalog.connectors.connector_errors import (
    ExternalTableError,
    SourceTopicError,
)
from table_store.catalog.connectors.dead_letters import DeadLetters
from table_store.catalog.connectors.kafka.kafka_connections import connected
from table_store.catalog.connectors.kafka.kafka_definition import (
    KAFKA,
    RESETS,
    KafkaDefinition,
    Startup,
)
from table_store.catalog.connectors.kafka.message_rows import MessageReader, OffsetRange
from table_store.catalog.connectors.kafka.newest_rows import StateReader
from table_store.catalog.connectors.positions.moment import Moment
from table_store.catalog.connectors.positions.position import (
    CUTS_MAX,
    Cut,
    Position,
    PositionStore,
    TopicCuts,
)
from table_store.catalog.connectors.positions.source_read import AskedRows, SourceRead
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.kafka.kafka_cluster import KafkaCluster
from table_store.storage.log_store.kafka.kafka_topics import TopicFacts
from table_store.storage.options.kafka_source_options import STARTUP_MODE
from table_store.storage.options.log_options import SCAN_BOUNDED_MODE

_SPLIT_ROWS_MIN: Final = 50_000
_WHAT_IS_THERE: Final = (Startup.EARLIEST, Startup.TIMESTAMP)
"""With these a job that begins later asks for what the topic still has, not for what it had."""


@dataclass(frozen=True, slots=True)
class KafkaSource:
    """The rows of a table whose definition names a topic."""

    definition: KafkaDefinition

    @property
    def bound(self) -> str:
        """The option with which the rows have an end."""
        return SCAN_BOUNDED_MODE.key

    def rows_max(self, last: Position | None) -> int | None:
        """Return how many rows there will be; None: they have no end, or nobody has looked yet."""
        return last.rows if self.definition.is_bounded and last is not None else None

    def following(
        self, last: Position | None, now_ms: int, pause_ms: int, moment: Moment
    ) -> Position | None:
        """Return the position now, whatever time has passed; None if it is still the last one.

        Raises:
            SourceTopicNotFoundError: the topic is gone.
            SourceTopicError: it is not the one of the last position.
            LogUnavailableError: the brokers do not answer.
        """
        del pause_ms, moment  # the records come also while nobody looks
        if last is not None and self.definition.is_bounded:
            return None
        with self._cluster() as cluster:
            facts = cluster.topics.facts(self.definition.topic)
            known = None if last is None else last.topic
            if known is None:
                start = self._start(cluster, facts)
                known = TopicCuts(id=facts.id, start=start, cuts=(Cut(0, start),))
            self._check_same(facts, known)
            ends = self._ends(cluster, facts)
        before = _filled(known.cuts[-1].offsets, facts.partitions)
        start = _filled(known.start, facts.partitions)
        for partition, (end, reached) in enumerate(zip(ends, before, strict=True)):
            if end < reached and reached > start[partition]:
                reason = f"partition {partition} ends at offset {end}, and reached {reached} before"
                raise SourceTopicError(topic=self.definition.topic, reason=reason)
        offsets = tuple(map(max, ends, before))
        rows = sum(offsets) - sum(start)
        if last is not None and rows == last.rows:
            return None
        cuts = known.cuts if last is None and not rows else (*known.cuts, Cut(rows, offsets))
        topic = TopicCuts(id=known.id, start=known.start, cuts=cuts[-CUTS_MAX:])
        return Position(rows=rows, at_ms=now_ms, topic=topic)

    def plan(self, asked: AskedRows, positions: PositionStore) -> SourceRead | None:
        """Return how to read rows; None if they have no end.

        For a job, changes are read as such; else the rows that they leave.

        Raises:
            ExternalTableError: nothing tells which changes are of one row.
            SourcePositionLostError: the position from which, or up to which, is not known.
            SourceTopicError, LogUnavailableError: see `following`.
        """
        reads_state = self.definition.gives_changes and asked.last is None
        if reads_state and not self.definition.key:
            raise ExternalTableError(
                table=asked.table,
                connector=KAFKA,
                operation="SELECT",
                remedy="Its records are changes of rows; create it with a PRIMARY KEY … NOT "
                "ENFORCED that tells which ones are of the same row",
            )
        if asked.last is not None:
            topic_id, start, end = self._between(asked, positions)
        elif self._ends_here(asked):
            with self._cluster() as cluster:
                facts = cluster.topics.facts(self.definition.topic)
                start, end = self._start(cluster, facts), self._ends(cluster, facts)
            topic_id = facts.id
        else:
            return None
        ranges = [
            OffsetRange(partition, *offsets)
            for partition, offsets in enumerate(zip(start, end, strict=True))
            if offsets[0] < offsets[1]
        ]
        records = self._reader(topic_id, asked.dead_letters)
        reader: MessageReader | StateReader = records
        parts: Iterable[OffsetRange] = ranges
        if reads_state:
            reader = StateReader(changes=records, key=self.definition.key)
        else:
            parts = _split(ranges, asked.parallelism)
        return SourceRead(
            reader=reader,
            parts=tuple(part.to_bytes() for part in parts),
            rows=sum(found.end - found.start for found in ranges),
        )

    def _ends_here(self, asked: AskedRows) -> bool:
        """Whether a statement reads what there is now; so it always is with changes."""
        definition = self.definition
        is_bounded = asked.is_bounded or definition.is_bounded
        return is_bounded or definition.gives_changes or asked.limit is not None

    def _reader(self, topic_id: str, dead_letters: DeadLetters | None) -> MessageReader:
        definition = self.definition
        return MessageReader(
            brokers=definition.brokers,
            topic=definition.topic,
            topic_id=topic_id,
            format=definition.format,
            metadata=definition.metadata,
            is_committed=definition.is_committed,
            skips_bad=definition.skips_bad,
            skips_bad_keys=definition.skips_bad_keys,
            dead_letters=dead_letters,
        )

    def _cluster(self) -> AbstractContextManager[KafkaCluster]:
        return connected(self.definition.brokers, self.definition.topic)

    def _check_same(self, facts: TopicFacts, known: TopicCuts) -> None:
        reached = len(known.cuts[-1].offsets)
        if facts.id != known.id:
            raise SourceTopicError(
                topic=self.definition.topic, reason="it was deleted and created again"
            )
        if facts.partitions < reached:
            reason = f"it has {facts.partitions} partitions, and had {reached}"
            raise SourceTopicError(topic=self.definition.topic, reason=reason)

    def _start(self, cluster: KafkaCluster, facts: TopicFacts) -> tuple[int, ...]:
        """Return the offsets of the first rows, for who begins now."""
        definition, count = self.definition, facts.partitions
        topic, topics = definition.topic, cluster.topics
        match definition.startup:
            case Startup.LATEST:
                return self._ends(cluster, facts)
            case Startup.TIMESTAMP:
                assert definition.startup_ms is not None, "it was checked"
                found = topics.offsets_since(topic, count, definition.startup_ms)
            case Startup.GROUP:
                found = self._group_offsets(cluster, facts)
            case Startup.OFFSETS:
                found = topics.earliest_offsets(topic, count) | dict(definition.startup_offsets)
            case _:
                found = topics.earliest_offsets(topic, count)
        return tuple(found[partition] for partition in range(count))

    def _group_offsets(self, cluster: KafkaCluster, facts: TopicFacts) -> dict[int, int]:
        """Return where the group has come to; where it has not, or that is gone, the reset."""
        definition, count = self.definition, facts.partitions
        assert definition.group is not None, "it was checked"
        found = cluster.positions.offsets(definition.group, definition.topic, count)
        earliest = cluster.topics.earliest_offsets(definition.topic, count)
        ends = self._ends(cluster, facts)
        for partition, offset in found.items():
            if earliest[partition] <= offset <= ends[partition]:
                continue
            if definition.reset is None:
                reason = (
                    f"group {definition.group!r} notes no offset of partition {partition} that "
                    f"topic {definition.topic!r} has; with 'properties.auto.offset.reset' = "
                    f"'{RESETS[0]}' or '{RESETS[1]}' such partitions begin there"
                )
                raise InvalidOptionError(
                    key=STARTUP_MODE.key, value=definition.startup.value, reason=reason
                )
            is_first = definition.reset == RESETS[0]
            found[partition] = earliest[partition] if is_first else ends[partition]
        return found

    def _ends(self, cluster: KafkaCluster, facts: TopicFacts) -> tuple[int, ...]:
        definition = self.definition
        found = cluster.topics.end_offsets(
            definition.topic, facts.partitions, is_committed=definition.is_committed
        )
        return tuple(found[partition] for partition in range(facts.partitions))

    def _between(
        self, asked: AskedRows, positions: PositionStore
    ) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
        """Return the topic's id and the offsets of the two positions."""
        topic, begin, end = asked_cuts(asked, positions)
        start = _filled(begin.offsets, len(end.offsets))
        if not asked.first and self.definition.startup in _WHAT_IS_THERE:
            with self._cluster() as cluster:
                there = cluster.topics.earliest_offsets(self.definition.topic, len(end.offsets))
            start = tuple(max(offset, there[p]) for p, offset in enumerate(start))
        return topic.id, start, end.offsets


def _filled(offsets: Sequence[int], count: int) -> tuple[int, ...]:
    """Return the offsets of so many partitions; those that came later begin at 0."""
    return (*offsets, *(0 for _ in range(count - len(offsets))))


def _split(ranges: Sequence[OffsetRange], parallelism: int) -> Iterator[OffsetRange]:
    """Yield parts of ranges for so many tasks, or fewer where they would be small."""
    total = sum(found.end - found.start for found in ranges)
    step = max(_SPLIT_ROWS_MIN, -(-total // max(1, parallelism)))
    for found in ranges:
        for at in range(found.start, found.end, step):
            yield OffsetRange(found.partition, at, min(at + step, found.end))
