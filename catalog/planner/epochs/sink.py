"""The table that a job keeps equal to its query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.frozen_map import FrozenMap


@dataclass(frozen=True, slots=True, kw_only=True)
class Sink:
    """A job's table.

    Attributes:
        relation: its name.
        access: the catalog of the name.
        table: what holds the rows.
        schema: the columns that are written.
        job: the commit user of the job.
        staged: the text of a `StagedTable` while nobody else sees the table.
        is_shared: whether it also has rows of others, which the job leaves alone, or rows that
            cannot be read, because a connector has taken them.
        options: of the job's writes.
        is_emitted_on_watermark: whether the rows of windows come once, when these are closed.
    """

    relation: RelationReference
    access: CatalogAccess
    table: FileStoreTable
    schema: TableSchema
    job: str
    staged: str | None = None
    is_shared: bool = False
    options: Mapping[str, str] = FrozenMap()
    is_emitted_on_watermark: bool = False

    @property
    def written(self) -> tuple[str, ...]:
        """The columns of the query's result; the others are computed from them."""
        return tuple(field.name for field in self.schema.fields if field.generated is None)

    @property
    def is_view(self) -> bool:
        """Whether it is a materialized view, which nothing but its query changes."""
        return self.schema.query is not None

    @property
    def name(self) -> str:
        """The name as messages show it."""
        return self.access.qualified(self.identifier)

    @property
    def identifier(self) -> Identifier:
        """The name in its catalog."""
        identifier = self.relation.identifier
        assert identifier is not None, "it was found by its name"
        return identifier

    @property
    def parts(self) -> tuple[str, ...]:
        """The name with catalog and namespace."""
        return (self.access.name, self.identifier.namespace, self.identifier.name)
