"""The columns of a table, and from which others each comes, as the service tells it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from table_store.catalog.meta_service.column_lineage import (
    ColumnLineage,
    LineageKind,
    WrittenTable,
    column_lineage,
)
from table_store.catalog.meta_service.named_relations import NamedRelations
from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.service.models import Column, ColumnsAnswer, SourceColumn
from table_store.catalog.service.observation import Observation
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import MissingFileError, NotFoundError
from table_store.storage.log_store.logged_table import open_logged


def table_columns(seen: Observation, name: str) -> ColumnsAnswer:
    """Return the columns of a table; costs the reads of the names in its job's query.

    Raises:
        NotFoundError: no job reads or writes a table of this name, or it was dropped.
        CorruptFileError: its definition, or that of a table that the job reads, is damaged.
    """
    topology = seen.topology
    for one in seen.jobs:
        if topology.name_of(one.job.sink) == name:
            return _written(seen, name, one)
    for path in {path for one in seen.jobs for path in one.job.sources}:
        if topology.name_of(path) == name:
            with suppress(MissingFileError, NotFoundError):
                return _answer(seen, name, open_logged(path).schema.fields, None)
    raise NotFoundError(kind="table of the topology", name=name)


def _written(seen: Observation, name: str, one: ObservedJob) -> ColumnsAnswer:
    find = NamedRelations(seen.topology.warehouse).find
    return _answer(seen, name, one.table.schema.fields, column_lineage(WrittenTable.of(one), find))


def _answer(
    seen: Observation, name: str, fields: Sequence[Field], lineage: Sequence[ColumnLineage] | None
) -> ColumnsAnswer:
    """Tell columns and what they depend on: nothing if there is no lineage, for a root."""
    found: dict[str | None, list[SourceColumn]] = {}
    for one in lineage or ():
        if one.source is not None:
            table = seen.topology.seen_as(one.source.table)
            found.setdefault(one.column, []).append(
                SourceColumn(table=table, column=one.source.name)
            )
    return ColumnsAnswer(
        observed_ms=seen.observed_ms,
        table=name,
        is_known=lineage is None or LineageKind.VALUE in {one.kind for one in lineage},
        columns=tuple(
            Column(
                name=field.name,
                type=field.type.sql_name(),
                sources=tuple(found.get(field.name, ())),
            )
            for field in fields
        ),
        conditions=tuple(found.get(None, ())),
    )
