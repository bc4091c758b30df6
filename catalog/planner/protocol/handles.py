"""What the JVM keeps of a table that it has loaded, and sends with every request about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.changes.change_range import ChangeRange
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.model.errors import ChangesNotAvailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHandle:
    """A managed table at a snapshot.

    Attributes:
        path: of the table.
        schema_id: with which it is read and written.
        snapshot_id: None where it has none.
        written: the columns that a statement gives, in this order.
        change_type_column: which of them says what a row is; None where all are inserted.
        staged: how a table that nobody sees yet is committed: the text of a `StagedTable`.
        is_temporary: whether a staged table is one of the session alone.
    """

    path: str
    schema_id: int
    snapshot_id: int | None
    written: tuple[str, ...] = ()
    change_type_column: str | None = None
    staged: str | None = None
    is_temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTableHandle:
    """A system table whose rows the planner has at once."""

    path: str
    system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogHandle:
    """The changes of a table in a range.

    `unavailable` says (what, what there is instead) where the history does not reach the range:
    that refuses a query, but not a stream that began with it and is far beyond.
    """

    path: str
    schema_id: int
    range: ChangeRange
    mode: ChangeMode
    labels: tuple[str, ...]
    has_start: bool = False
    has_end: bool = False
    unavailable: tuple[str, str] | None = None

    def check_available(self, table: str) -> None:
        """Return quietly if the range can be read from its start.

        Raises:
            ChangesNotAvailableError: it cannot.
        """
        if self.unavailable is not None:
            asked, available = self.unavailable
            raise ChangesNotAvailableError(table=table, asked=asked, available=available)


Handle: TypeAlias = TableHandle | SystemTableHandle | ChangelogHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReference:
    """A loaded table: its name, and what is behind it."""

    relation: RelationReference
    handle: Handle

    @property
    def table_handle(self) -> TableHandle:
        """The handle where only a managed table can be meant: Spark writes nothing else."""
        assert isinstance(self.handle, TableHandle), "it has no other capability than to be read"
        return self.handle
