"""How far the log of a table has come, as a file beside the table's data.

The topic itself is what counts. The file spares most commits a look at the topic's last records
and tells later readers where a snapshot is. It still knows the position when the topic's records
have expired.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.file_store.changes.change_archive import LOG_FOLDER
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import (
    CorruptFileError,
    MissingFileError,
    TableStoreError,
)
from table_store.storage.kernel.frozen_map import FrozenMap

_FILE: Final = "POSITION"
_VERSION: Final = 2

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPosition:
    """All changes up to snapshot `snapshot_id` are in the log, before `offsets` (by bucket).

    In front of the offsets there are also `foreign_records` that somebody else wrote.
    """

    snapshot_id: int = 0
    foreign_records: int = 0
    offsets: Mapping[int, int] = field(default_factory=FrozenMap)


@dataclass(frozen=True, slots=True)
class PositionFile:
    """The file `log/POSITION` of a table."""

    file_io: FileIO
    table_path: str

    def read(self) -> LogPosition:
        """Return the position noted last; the beginning if there is none or the file is damaged.

        Raises:
            FormatVersionError: a newer version wrote it.
        """
        try:
            data = self.file_io.read_bytes(self._path)
            return from_checked_json(
                data, _position, path=self._path, version=_VERSION, noun="position"
            )
        except MissingFileError:
            return LogPosition()
        except CorruptFileError as error:
            # The file is not durable, so a power cut may damage it: the topic is asked instead.
            _log.warning("the log's position in %s is passed over: %s", self._path, error.reason)
            return LogPosition()

    def write(self, position: LogPosition) -> None:
        """Note a position; if that fails, the next commit only has to look at the topic."""
        item = {
            "snapshotId": position.snapshot_id,
            "foreignRecords": position.foreign_records,
            "offsets": {str(b): offset for b, offset in position.offsets.items()},
        }
        with suppress(TableStoreError):
            data = to_checked_json(item, version=_VERSION)
            self.file_io.write_bytes(self._path, data, durable=False)

    @property
    def _path(self) -> str:
        return join_path(self.table_path, LOG_FOLDER, _FILE)


def _position(item: Mapping[str, Any]) -> LogPosition:
    return LogPosition(
        snapshot_id=int(item["snapshotId"]),
        foreign_records=int(item.get("foreignRecords", 0)),
        offsets=FrozenMap((int(b), int(o)) for b, o in item["offsets"].items()),
    )
