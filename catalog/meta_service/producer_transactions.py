"""Transactions of producers: a barrier has all of what one writes by several commits, or nothing.

A producer notes a transaction with its tables before the first commit, and takes the note away
after the last one: `_transactions/<hash of its name>`. While it is open, no barrier is cut for
tables that hang together with its own, as `one_moment.py` says. If the producer dies, it stays
open, and who begins it again goes on with it.

Who finds one open where a barrier is to be cut asks for a pause, `_transactions/wanted`: whoever
begins a transaction waits a while until the barrier has been cut and the file is gone. So producers
whose transactions follow one another without end do not keep barriers from being cut.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from table_store.catalog.jobs.job_errors import TransactionOpenError
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.errors import (
    InvalidOptionError,
    MissingFileError,
    NotFoundError,
)
from table_store.storage.log_store.logged_table import open_logged
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS
from table_store.storage.options.watermark_options import WATERMARK_ALIGNMENT_GROUP

TRANSACTION_FOLDER: Final = "_transactions"
_VERSION: Final = 2
_USED: Final = "used"
"""The file that is there since the first transaction of the warehouse has begun."""
_WANTED: Final = "wanted"
_PAUSE_MS: Final = 10
_PAUSES_MAX: Final = 200
_NAME_LENGTH_MAX: Final = 200
_REMEDY: Final = "Delete it when its producer has ended, then run the producer again"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerTransaction:
    """A transaction that is open.

    Attributes:
        name: which its producer has given to it.
        tables: the directories of the tables that it writes.
        begun_ms: when it began, ms since 1970.
    """

    name: str
    tables: frozenset[str]
    begun_ms: int

    def error(self) -> TransactionOpenError:
        """Why what would cut it in two is not done now."""
        return TransactionOpenError(reason=f"transaction {self.name!r} of a producer is open")


@dataclass(frozen=True, slots=True)
class OpenTransactions:
    """The transactions that are open.

    Attributes:
        transactions: they.
        is_used: whether there has ever been one.
        is_pause_wanted: whether somebody waits for their end.
    """

    transactions: tuple[ProducerTransaction, ...] = ()
    is_used: bool = False
    is_pause_wanted: bool = field(default=False, compare=False)

    def of_tables(self, tables: Iterable[str]) -> ProducerTransaction | None:
        """Return one that writes a table in one of these directories; None if none does."""
        wanted = frozenset(tables)
        return next((one for one in self.transactions if one.tables & wanted), None)


@dataclass(frozen=True, slots=True)
class ProducerTransactions:
    """The transactions of the warehouse whose root is `warehouse`, for any number of processes."""

    file_io: FileIO
    warehouse: str
    clock: Clock

    @classmethod
    def of(cls, warehouse: Warehouse) -> ProducerTransactions:
        """Return those of a warehouse."""
        return cls(warehouse.file_io, warehouse.root, warehouse.clock)

    def begin(self, name: str, tables: Iterable[str]) -> ProducerTransaction:
        """Open a transaction, durable, or go on with one of that name that is open; return it.

        Raises:
            InvalidOptionError: the name is empty or too long, there are no tables, or one of them
                advances in event time, so that barriers take commits of others without its own.
            CorruptFileError: the note of the open one is damaged.
        """
        wanted = frozenset(tables)
        if not 0 < len(name) <= _NAME_LENGTH_MAX:
            reason = f"use a name of 1 to {_NAME_LENGTH_MAX} characters"
            raise InvalidOptionError(key="transaction", value=name, reason=reason)
        if not wanted:
            raise InvalidOptionError(key="tables", value="", reason="name the tables")
        _check_in_no_group(wanted)
        self.file_io.write_new(join_path(self._folder, _USED), b"")
        known = self._read(self._path(name))
        if known is None:
            self._give_way()
        begun = ProducerTransaction(
            name=name,
            tables=wanted if known is None else wanted | known.tables,
            begun_ms=self.clock.now_ms() if known is None else known.begun_ms,
        )
        item = {"name": name, "tables": sorted(begun.tables), "begunMs": begun.begun_ms}
        self.file_io.write_bytes(self._path(name), to_checked_json(item, version=_VERSION))
        return begun

    def end(self, name: str) -> bool:
        """Close a transaction; whether one of that name was open."""
        was_open = self.file_io.exists(self._path(name))
        self.file_io.delete(self._path(name))
        return was_open

    def look(self) -> OpenTransactions:
        """Return those that are open; costs a list, and a read for each.

        Raises:
            CorruptFileError: a note is damaged.
            FormatVersionError: a newer version of the table store wrote one.
        """
        names = self.file_io.names(self._folder)
        others = [name for name in names if name not in (_USED, _WANTED)]
        notes = [self._read(join_path(self._folder, name)) for name in others]
        return OpenTransactions(
            transactions=tuple(one for one in notes if one is not None),
            is_used=bool(names),
            is_pause_wanted=_WANTED in names,
        )

    def want_pause(self) -> None:
        """Let those wait that begin a transaction, for at most two seconds."""
        self.file_io.write_new(self._wanted, b"")

    def end_pause(self) -> None:
        """Let them go on."""
        self.file_io.delete(self._wanted)

    def _give_way(self) -> None:
        for _ in range(_PAUSES_MAX):
            if not self.file_io.exists(self._wanted):
                return
            self.clock.sleep_ms(_PAUSE_MS)
        self.end_pause()  # who wanted it has given up, or has died

    def _read(self, path: str) -> ProducerTransaction | None:
        try:
            data = self.file_io.read_bytes(path)
        except MissingFileError:
            return None
        return from_checked_json(
            data, _from_json, path=path, version=_VERSION, noun="transaction", remedy=_REMEDY
        )

    @property
    def _folder(self) -> str:
        return join_path(self.warehouse, TRANSACTION_FOLDER)

    @property
    def _wanted(self) -> str:
        return join_path(self._folder, _WANTED)

    def _path(self, name: str) -> str:
        return join_path(self._folder, hashlib.sha256(name.encode()).hexdigest()[:32])


def _check_in_no_group(tables: Iterable[str]) -> None:
    for path in sorted(tables):
        with suppress(MissingFileError, NotFoundError):
            options = open_logged(path).schema.options
            group = TABLE_OPTIONS.parse(options, OptionScope.TABLE).get(WATERMARK_ALIGNMENT_GROUP)
            if group is not None:
                raise InvalidOptionError(
                    key="tables",
                    value=path,
                    reason=f"it has {WATERMARK_ALIGNMENT_GROUP.key!r}, by which a barrier may take "
                    "one commit of the transaction and not the others; unset it",
                )


def _from_json(item: Mapping[str, Any]) -> ProducerTransaction:
    return ProducerTransaction(
        name=str(item["name"]),
        tables=frozenset(str(path) for path in item["tables"]),
        begun_ms=int(item["begunMs"]),
    )
