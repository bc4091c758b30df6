"""Consumers: who reads a table's changes, and how far, so that expiry keeps what they need.

Each consumer has a file beside the table, as in Apache Paimon. A stream writes it when it has read
further, and now and then to say that it still runs. So does a query that runs for long, which is
a reader: it is ignored after `READER_MS`, however long streams may be away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import CorruptFileError, MissingFileError
from table_store.storage.kernel.types import Json

CONSUMER_FOLDER: Final = "consumer"
READER: Final = "reader:"
"""Beginning of the names of readers."""

READER_MS: Final = 600_000
_PREFIX: Final = "consumer-"
_VERSION: Final = 2
_RENEWALS: Final = 10
_REMEDY: Final = (
    "Forget the consumer with CALL sys.reset_consumer; a stream that still reads as it notes again "
    "how far it is"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """One reader.

    Attributes:
        id: its name.
        next_snapshot_id: the first snapshot whose changes it has not read.
        time_ms: when it was last heard of.
        sink: the directory of the table that it keeps equal to a query, if it does.
    """

    id: str
    next_snapshot_id: int
    time_ms: int
    sink: str | None = None

    @property
    def needed_from_id(self) -> int:
        """The oldest snapshot that it needs: changes are read from the one before, too."""
        return max(1, self.next_snapshot_id - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerStore:
    """The consumers of the table at `path`; one that is silent for `expiration_ms` is ignored."""

    file_io: FileIO
    path: str
    clock: Clock
    expiration_ms: int

    def all(self) -> tuple[Consumer, ...]:
        """Return the consumers that count, by name; fails as `known`."""
        now_ms = self.clock.now_ms()
        return tuple(c for c in self.known() if c.time_ms + self._silence_ms(c.id) > now_ms)

    def known(self) -> tuple[Consumer, ...]:
        """Return all consumers, also those that have been silent for too long, by name.

        Raises:
            CorruptFileError: a file is not what was written, or not that of a consumer.
            FormatVersionError: a newer version wrote one.
        """
        found = []
        folder = join_path(self.path, CONSUMER_FOLDER)
        for name in self.file_io.names(folder):
            if name.startswith(_PREFIX):
                consumer = self._read(join_path(folder, name))
                if consumer is not None:
                    found.append(consumer)
        return tuple(sorted(found, key=lambda consumer: consumer.id))

    def needed_from_id(self) -> int | None:
        """Return the oldest snapshot that a consumer needs; None if there is no consumer."""
        return min((consumer.needed_from_id for consumer in self.all()), default=None)

    def note(self, consumer_id: str, next_snapshot_id: int, *, sink: str | None = None) -> None:
        """Note how far a consumer is; write nothing if that was noted a short time ago.

        `sink` is the directory of the table that it keeps equal to a query, if it does.
        """
        now_ms = self.clock.now_ms()
        known = self._read(self._file(consumer_id))
        is_new = known is None or (known.next_snapshot_id, known.sink) != (next_snapshot_id, sink)
        if (
            known is None
            or is_new
            or known.time_ms + self._silence_ms(consumer_id) // _RENEWALS < now_ms
        ):
            item: dict[str, Json] = {
                "id": consumer_id,
                "nextSnapshot": next_snapshot_id,
                "timeMillis": now_ms,
            }
            if sink is not None:
                item["sink"] = sink
            data = to_checked_json(item, version=_VERSION)
            self.file_io.write_bytes(self._file(consumer_id), data)

    def remove(self, consumer_id: str) -> bool:
        """Forget a consumer; return whether there was one."""
        is_known = self.file_io.exists(self._file(consumer_id))
        self.file_io.delete(self._file(consumer_id))
        return is_known

    def remove_lapsed_readers(self) -> None:
        """Forget the readers whose programs have died; fails as `known`."""
        now_ms = self.clock.now_ms()
        for one in self.known():
            if one.id.startswith(READER) and one.time_ms + self._silence_ms(one.id) <= now_ms:
                self.remove(one.id)

    def _silence_ms(self, consumer_id: str) -> int:
        """How long it may be silent."""
        if consumer_id.startswith(READER):
            return min(READER_MS, self.expiration_ms)
        return self.expiration_ms

    def _file(self, consumer_id: str) -> str:
        return join_path(self.path, CONSUMER_FOLDER, _PREFIX + quote(consumer_id, safe=""))

    def _read(self, path: str) -> Consumer | None:
        try:
            data = self.file_io.read_bytes(path)
        except MissingFileError:
            return None
        found = from_checked_json(
            data, _consumer, path=path, version=_VERSION, noun="consumer", remedy=_REMEDY
        )
        if self._file(found.id) != path:
            reason = f"it holds consumer {found.id!r}"
            raise CorruptFileError(path=path, reason=reason, remedy=_REMEDY)
        return found


def _consumer(item: Mapping[str, Any]) -> Consumer:
    return Consumer(
        id=str(item["id"]),
        next_snapshot_id=int(item["nextSnapshot"]),
        time_ms=int(item["timeMillis"]),
        sink=None if item.get("sink") is None else str(item["sink"]),
    )
