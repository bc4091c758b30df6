"""Handles: the JVM keeps one for a loaded table and sends it with every request about the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from table_store.catalog.names.found_name import FoundName
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.changes.change_range import ChangeRange
from table_store.storage.file_store.changes.change_split import ChangeMode
from table_store.storage.file_store.model.errors import ChangesNotAvailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class TableHandle:
    """A managed table at a snapshot.

    Attributes:
        path: the table's location.
        schema_id: the schema with which the table is read and written.
        snapshot_id: None before the first snapshot.
        written: names of the columns that a writing statement provides, in this order.
        change_type_column: the one of them with the change type; None if all rows are inserts.
        staged: JSON of the `StagedTable` from which a table that nobody sees yet is committed.
        is_temporary: whether a staged table is a temporary table of the session.
        first_row: of a source whose rows a connector makes: the first one that is read;
            `snapshot_id` is then the number of rows that are out.
        dead_letters: of such a source in a job, the location of the table that takes what is no
            row; None if it names none.
        is_named: whether it is the directory for which the relation's name in the catalog stood:
            neither that of a temporary table, nor the one that the table had at a past time.
    """

    path: str
    schema_id: int
    snapshot_id: int | None
    written: tuple[str, ...] = ()
    change_type_column: str | None = None
    staged: str | None = None
    is_temporary: bool = False
    first_row: int = 0
    dead_letters: str | None = None
    is_named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemTableHandle:
    """A system table, whose rows the planner returns directly."""

    path: str
    system: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyTableHandle:
    """A table about the jobs of the warehouse, as it is seen in a namespace."""

    namespace: str
    table: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangelogHandle:
    """The changes of a table in a range.

    `unavailable` is (what was asked for, what is available) if the history no longer covers the
    range. Queries and new streams are then refused; a stream that has read further goes on.
    `is_named` is that of a `TableHandle`.
    """

    path: str
    schema_id: int
    range: ChangeRange
    mode: ChangeMode
    labels: tuple[str, ...]
    has_start: bool = False
    has_end: bool = False
    unavailable: tuple[str, str] | None = None
    is_named: bool = False

    def check_available(self, table: str) -> None:
        """Check that the range can be read from its start.

        Raises:
            ChangesNotAvailableError: the history no longer covers the range.
        """
        if self.unavailable is not None:
            asked, available = self.unavailable
            raise ChangesNotAvailableError(table=table, asked=asked, available=available)


Handle: TypeAlias = TableHandle | SystemTableHandle | TopologyTableHandle | ChangelogHandle


@dataclass(frozen=True, slots=True, kw_only=True)
class TableReference:
    """A loaded table: its name and its handle."""

    relation: RelationReference
    handle: Handle

    @property
    def table_handle(self) -> TableHandle:
        """The handle of a managed table, for requests that Spark sends about no other kind."""
        assert isinstance(self.handle, TableHandle), "it has no other capability than to be read"
        return self.handle

    def found_name(self, warehouse: str) -> FoundName | None:
        """The name by which it was found in the warehouse with a root; None if not by its name."""
        identifier, handle = self.relation.identifier, self.handle
        is_named = isinstance(handle, TableHandle | ChangelogHandle) and handle.is_named
        if identifier is None or not is_named:
            return None
        return FoundName(warehouse=warehouse, namespace=identifier.namespace, name=identifier.name)
