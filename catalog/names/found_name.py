"""The name by which a table was found; by now it may stand for another one."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import TableTarget
from table_store.catalog.names.name_registry import NameRegistry
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.storage.file_io.resolve import file_io_for


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundName:
    """A name in the warehouse whose root is `warehouse`."""

    warehouse: str
    namespace: str
    name: str

    def location_since(self, location: str) -> str | None:
        """Return the directory of the table of this name, which was found at a location.

        It reads one file. Where nothing has the name any more, it is the same directory, which
        tells by itself whether the table was dropped. None where no managed table has the name.

        Raises:
            CorruptFileError: the name's record is damaged.
            PathNotAllowedError: somebody has changed the record.
        """
        file_io = file_io_for(self.warehouse)
        identifier = Identifier(self.namespace, self.name)
        record = NameRegistry(file_io, self.warehouse).find(identifier)
        if record is None:
            return location
        if not isinstance(record.target, TableTarget):
            return None
        places = AllowedPlaces(root=self.warehouse, file_io=file_io)
        return places.absolute(record.target.location)
