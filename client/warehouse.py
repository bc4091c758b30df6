"""A warehouse as programs without Spark hold it: namespaces and tables by their names.

Like a table it keeps no state, and may be used by any number of threads at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from table_store.catalog.definition.declaration import declared_under
from table_store.catalog.definition.declared_settings import settings_in
from table_store.catalog.names import warehouse as names
from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier
from table_store.catalog.names.name_record import RelationKind
from table_store.catalog.names.table_name import parse_table_name
from table_store.catalog.names.table_place import plain_path
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.catalog.tables.log_topic import all_listeners
from table_store.catalog.tables.managed_table import ManagedTable
from table_store.client.definition import NamedDefinition
from table_store.client.table import Table, opened
from table_store.client.table_descriptor import TableDescriptor
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.errors import NotFoundError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.time_zone import find_zone
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True, repr=False)
class Warehouse:
    """The tables below one path; `table_store.connect` makes it.

    A name is `table` or `namespace.table`, in back-ticks where a part has a dot. `time_zone` is
    that of timestamps without one in all tables that it opens; None refuses them.
    """

    lifecycle: TableLifecycle
    time_zone: str | None = None

    @property
    def path(self) -> str:
        """Where it is."""
        return self.lifecycle.warehouse.root

    def namespaces(self) -> tuple[str, ...]:
        """Return the names of all namespaces in order, `default` always among them."""
        return self.lifecycle.warehouse.namespaces()

    def create_namespace(self, name: str, properties: Mapping[str, str] = FrozenMap()) -> None:
        """Create a namespace.

        Raises:
            NamespaceAlreadyExistsError, InvalidIdentifierError: the name is taken, or not allowed.
        """
        self.lifecycle.warehouse.create_namespace(name, properties)

    def drop_namespace(self, name: str, *, cascade: bool = False) -> None:
        """Remove a namespace, with `cascade` together with everything in it.

        Raises:
            NamespaceNotFoundError, NamespaceNotEmptyError: there is none, or something in it.
        """
        self.lifecycle.drop_namespace(name, cascade=cascade)

    def tables(self, namespace: str = DEFAULT_NAMESPACE) -> tuple[str, ...]:
        """Return the names of the tables of a namespace in order; no views, no foreign tables.

        Raises:
            NamespaceNotFoundError: there is no such namespace.
        """
        records = self.lifecycle.warehouse.records(namespace, [RelationKind.TABLE])
        return tuple(record.identifier.name for record in records)

    def open(self, name: str) -> Table:
        """Return a table, to read and to write.

        Raises:
            NotFoundError: there is no such table.
            WrongRelationKindError: the name is that of a view or foreign table.
        """
        return self._opened(self.lifecycle.load(self._identifier(name)))

    def create(self, name: str, descriptor: TableDescriptor) -> Table:
        """Create an empty table, and return it.

        Raises:
            AlreadyExistsError: the name is taken.
            NamespaceNotFoundError: there is no such namespace.
            InvalidSchemaError, UnknownOptionError, InvalidOptionError: the description is wrong.
            InvalidIdentifierError: the name is not allowed.
        """
        definition = declared_under(descriptor.definition, settings_in(self.time_zone))
        return self._opened(self.lifecycle.create(self._identifier(name), definition))

    def drop(self, name: str, *, if_exists: bool = False) -> None:
        """Remove a table with its rows and history.

        Raises:
            NotFoundError: there is none, and not `if_exists`.
        """
        identifier = self._identifier(name)
        if not self.lifecycle.drop(identifier) and not if_exists:
            raise NotFoundError(kind="table", name=str(identifier))

    def rename(self, name: str, new_name: str) -> Table:
        """Give a table another name, perhaps in another namespace, and return it.

        Raises:
            NotFoundError, AlreadyExistsError: there is no such table, or the new name is taken.
        """
        source, target = self._identifier(name), self._identifier(new_name)
        return self._opened(self.lifecycle.rename(source, target))

    def _identifier(self, name: str) -> Identifier:
        return parse_table_name(name, catalog=None, namespace=DEFAULT_NAMESPACE)

    def _opened(self, managed: ManagedTable) -> Table:
        warehouse = self.lifecycle.warehouse
        file_io = warehouse.places.file_io_of(managed.location)
        storage = replace(
            open_logged(managed.location, file_io), clock=warehouse.clock, ids=warehouse.ids
        )
        named = NamedDefinition(self.lifecycle, managed.identifier, self.time_zone)
        return opened(storage, self.time_zone, named)

    def __repr__(self) -> str:
        return f"<Warehouse {self.path}>"


def connected(path: str, time_zone: str | None = None) -> Warehouse:
    """Return the warehouse at a path or URI; it need not exist yet.

    Raises:
        PathNotAllowedError: the path is relative or climbs.
        InvalidTimeZoneError: there is no such zone.
    """
    if time_zone is not None:
        find_zone(time_zone)
    root = plain_path(path)
    opened = names.Warehouse(file_io_for(root), root, SystemClock(), RandomIds())
    return Warehouse(TableLifecycle(opened, all_listeners()), time_zone)
