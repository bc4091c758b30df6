"""Short ranges of binlogs that several jobs of this process read, each read once.

Jobs of one database stand at the same places of its binlog, so who comes first reads the range for
all tables, and keeps what belongs to the others. Rows are decoded by the job that takes them: a
table's events are given out once, and who asks for them again, as a repeated epoch does, reads for
itself.
"""

from __future__ import annotations

import logging
import struct
import threading
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from table_store.catalog.connectors.mysql.mysql_binlog import BinlogPlace
from table_store.catalog.connectors.mysql.mysql_log import (
    LoggedEvent,
    TableLog,
    frames_a_transaction,
    table_of,
)
from table_store.catalog.connectors.mysql.table_names import TableNames
from table_store.storage.kernel.bounded_cache import BoundedCache
from table_store.storage.kernel.counter import Counter

RANGE_BYTES_MAX: Final = 4 << 20
"""Longer ranges are read by the tasks of each job."""

READ_FOR_ALL: Final = Counter("binlog_ranges_read_for_all")
READ_ALONE: Final = Counter("binlog_ranges_read_alone")

_HELD_BYTES_MAX: Final = 128 << 20
_EVENT_BYTES: Final = 1500
"""About so much memory an event takes beside its bytes in the binlog."""

_TURNS: Final = 16
_OF_CLIENT: Final = (
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    NotImplementedError,
    struct.error,
)
"""What the client raises for a type of column that it does not know."""

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class _HeldRange:
    """The events of a range, numbered in their order.

    Attributes:
        size_bytes: about how much memory it takes.
        of_all: statements, and what else is no row of a table.
        of_tables: by database and name; tables whose events were given out are None.
        is_readable: whether the client can read the rows of all tables.
    """

    size_bytes: int
    of_all: list[tuple[int, LoggedEvent]] = field(default_factory=list)
    of_tables: dict[tuple[str, str], list[tuple[int, LoggedEvent]] | None] = field(
        default_factory=lambda: defaultdict(list)
    )
    is_readable: bool = True

    def add(self, number: int, event: LoggedEvent) -> None:
        """Keep an event, while nobody has any."""
        place = table_of(event)
        events = self.of_all if place is None else self.of_tables[place]
        assert events is not None, "nobody has it yet"
        events.append((number, event))
        self.size_bytes += _EVENT_BYTES

    def take(self, names: TableNames) -> Sequence[LoggedEvent] | None:
        """Return the events that concern tables; None if they are not here.

        Somebody has some of them already, or they cannot be read together with those of others.
        """
        if not self.is_readable:
            return None
        places = [place for place in self.of_tables if names.has(*place)]
        found = [self.of_tables[place] for place in places]
        if any(events is None for events in found):
            return None
        for place in places:
            self.of_tables[place] = None
        rows = [numbered for events in found for numbered in events or ()]
        return [event for _, event in sorted((*self.of_all, *rows), key=lambda one: one[0])]


_ranges: Final[BoundedCache[_HeldRange]] = BoundedCache(
    _HELD_BYTES_MAX, lambda held: held.size_bytes
)
_turns: Final = tuple(threading.Lock() for _ in range(_TURNS))


def shared_events(log: TableLog, start: BinlogPlace, end: BinlogPlace) -> Iterator[LoggedEvent]:
    """Yield what `TableLog.events` does of a range that is not long, for its tables.

    Raises:
        SourceChangesGoneError: the log does not have them any more.
    """
    database = log.database
    server = (database.host, database.port, database.user, database.password)
    name = repr((server, log.log.id, start.offsets, start.mark, end.offsets, end.mark))
    with _turns[hash(name) % _TURNS]:
        held = _ranges.get(name)
        if held is None:
            held = _HeldRange(log.log.bytes_between(start, end))
            try:
                for number, event in enumerate(log.events(start, end, is_of_all=True)):
                    if not frames_a_transaction(event):
                        held.add(number, event)
            except _OF_CLIENT as error:
                _log.info("each job reads the binlog for itself: %r", error)
                held = _HeldRange(_EVENT_BYTES, is_readable=False)
            READ_FOR_ALL.add(1)
            _ranges.put(name, held)
        found = held.take(log.names)
    if found is None:
        READ_ALONE.add(1)
        found = list(log.events(start, end))
    yield from found
