"""What the names in a warehouse stand for, for reading the queries of its jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from table_store.catalog.meta_service.column_lineage import NamedRelation
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.name_record import (
    ForeignDefinition,
    NameRecord,
    TableTarget,
    ViewDefinition,
)
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged


@dataclass(frozen=True, slots=True)
class NamedRelations:
    """Finds tables and views by name; each costs two reads the first time."""

    warehouse: Warehouse
    _known: dict[tuple[str, str], NamedRelation | None] = field(default_factory=dict)

    def find(self, identifier: Identifier) -> NamedRelation | None:
        """Return what a name stands for; None if for nothing, or if its columns are not known.

        Raises:
            CorruptFileError: the name's record or the table's definition is damaged.
            FormatVersionError: a newer version of the table store wrote one of them.
        """
        if identifier.key not in self._known:
            record = self.warehouse.find(identifier)
            self._known[identifier.key] = None if record is None else self._named(record)
        return self._known[identifier.key]

    def _named(self, record: NameRecord) -> NamedRelation | None:
        name = record.identifier
        match record.target:
            case TableTarget():
                location = self.warehouse.location(record)
                try:
                    table = open_logged(location, self.warehouse.places.file_io_of(location))
                except (MissingFileError, NotFoundError):
                    return None
                columns = table.schema.column_names
                return NamedRelation(identifier=name, columns=columns, location=location)
            case ViewDefinition() as view:
                columns = _names(view.columns)
                return NamedRelation(identifier=name, columns=columns, query=_query(view))
            case ForeignDefinition() as foreign:
                columns = _names(foreign.columns)
                return NamedRelation(identifier=name, columns=columns) if columns else None


def _query(view: ViewDefinition) -> StoredQuery:
    return StoredQuery(
        text=view.query_text,
        current_catalog=view.current_catalog or "",
        current_namespace=view.current_namespace,
        settings=view.sql_configs,
        columns=view.query_column_names,
    )


def _names(struct: str) -> tuple[str, ...]:
    """The names of the fields of Spark's StructType JSON; none if there is none."""
    return tuple(str(one["name"]) for one in json.loads(struct)["fields"]) if struct else ()
