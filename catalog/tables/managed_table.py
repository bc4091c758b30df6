"""A managed table as it was found: its name, its directory and its schema."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import NameRecord
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.metadata.schema_store import SchemaStore
from table_store.storage.file_store.model.schema import TableSchema


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedTable:
    """A table by name, with the directory and schema it had when it was looked up."""

    record: NameRecord
    location: str
    schema: TableSchema

    @property
    def identifier(self) -> Identifier:
        """The name as it was written when the table was created."""
        return self.record.identifier


def schemas_at(warehouse: Warehouse, location: str) -> SchemaStore:
    """Return the schemas of the table at a directory."""
    return SchemaStore(warehouse.places.file_io_of(location), location)


def managed_table_at(warehouse: Warehouse, record: NameRecord, location: str) -> ManagedTable:
    """Return the table of a record with the newest schema that a directory of it has.

    Raises:
        CorruptFileError: the schema is damaged.
    """
    schema = schemas_at(warehouse, location).latest()
    return ManagedTable(record=record, location=location, schema=schema)
