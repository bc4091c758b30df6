"""From which columns the columns of a job's table come, as the job's stored query says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from sqlglot import exp

from table_store.catalog.meta_service.observed_job import ObservedJob
from table_store.catalog.meta_service.parsed_query import parsed_query, parsed_text
from table_store.catalog.meta_service.query_clauses import check_known
from table_store.catalog.meta_service.query_lineage import NameParts, QueryReader
from table_store.catalog.meta_service.query_scope import (
    NO_SOURCES,
    Relation,
    ResultColumn,
    SourceColumn,
    Sources,
    UnreadableQueryError,
)
from table_store.catalog.names.identifier import Identifier
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_query import StoredQuery

_NAME_LENGTH: Final = 3


class LineageKind(Enum):
    """How a job's table depends on a column that the job reads.

    The value of a column of the table comes from a VALUE. An INDIRECT one decides which rows the
    table has, so all its columns depend on it: by a condition, a grouping, a comparison of rows.
    """

    VALUE = "value"
    INDIRECT = "indirect"


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """One dependency.

    Attributes:
        column: of the job's table; None for all of them.
        source: on which it depends; None for a column that comes from none, such as a constant.
        kind: how; None if it is not known where the column comes from.
    """

    column: str | None
    source: SourceColumn | None
    kind: LineageKind | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedRelation:
    """What a name in a warehouse stands for.

    Attributes:
        identifier: the name, as it was created.
        columns: their names; of a view none if they are those of its query.
        location: the directory of a managed table.
        query: of a view.
    """

    identifier: Identifier
    columns: tuple[str, ...]
    location: str | None = None
    query: StoredQuery | None = None


FindNamed: TypeAlias = Callable[[Identifier], NamedRelation | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenTable:
    """The table that a job writes.

    Attributes:
        fields: its columns.
        query: of which it has the result, or the statement of a streaming INSERT; None if it is not
            known.
        catalog: how the warehouse's catalog was called for a view; an INSERT says that itself.
        sources: the directories of the tables that the job reads.
    """

    fields: Sequence[Field]
    query: StoredQuery | None
    catalog: str | None
    sources: frozenset[str]

    @classmethod
    def of(cls, observed: ObservedJob) -> WrittenTable:
        """Return the table of a registered job."""
        job, schema = observed.job, observed.table.schema
        return cls(
            fields=schema.fields,
            query=schema.query if observed.is_view else job.insert,
            catalog=job.name.partition(".")[0] if observed.is_view else None,
            sources=job.sources,
        )


def column_lineage(table: WrittenTable, find: FindNamed) -> list[ColumnLineage]:
    """Return what the columns of a job's table depend on, in their order, and last what all do.

    A column that depends on none is there once, and so is each if the query cannot be read: if its
    text has something that is not known, or its names do not stand for what the job reads. A table
    or view that the query names costs a call of `find`.
    """
    try:
        written, indirect = _written(table, find)
    except (UnreadableQueryError, RecursionError):
        return [ColumnLineage(field.name, None, None) for field in table.fields]
    found = []
    for column in table.fields:
        sources: Sequence[SourceColumn | None] = _sorted(written[column.name]) or [None]
        found += [ColumnLineage(column.name, source, LineageKind.VALUE) for source in sources]
    return found + [
        ColumnLineage(None, source, LineageKind.INDIRECT) for source in _sorted(indirect)
    ]


def _written(table: WrittenTable, find: FindNamed) -> tuple[dict[str, Sources], Sources]:
    """Where the columns of a job's table come from, and what decides on its rows."""
    query = table.query
    if query is None:
        raise UnreadableQueryError("the query is not known")
    text = parsed_query(query)
    parsed = text.tree
    plain = [one.name for one in table.fields if one.generated is None]
    if isinstance(parsed, exp.Insert):
        check_known(parsed)
        target = _target(parsed)
        catalog = _whole_name(tuple(part.name for part in target.parts), query, "")[0]
        names = _Names(catalog, query, find)
        result = QueryReader(names, text.lost).result(parsed.expression, parsed.args.get("with_"))
        result = result.cut_to(query.columns)
        columns = _insert_columns(parsed, result) or plain
    else:
        names = _Names(table.catalog or query.current_catalog, query, find)
        result, columns = QueryReader(names, text.lost).result(parsed).cut_to(query.columns), plain
    if names.locations != table.sources:
        raise UnreadableQueryError("the names stand for other tables than the job reads")
    by_name = {
        (column.name or "").lower(): column.sources for column in result.renamed(columns).columns
    }
    if not by_name.keys() <= {name.lower() for name in plain}:
        raise UnreadableQueryError("the job's table has other columns")
    written = {name: by_name.get(name.lower(), NO_SOURCES) for name in plain}
    known = Relation(tuple(ResultColumn(name, sources) for name, sources in written.items()))
    for one in table.fields:
        if one.generated is not None:
            text = parsed_text(one.generated.text)
            written[one.name] = QueryReader(names, text.lost).expression(text.tree, known)
    return written, result.indirect


def _target(insert: exp.Insert) -> exp.Table:
    target = insert.this.this if isinstance(insert.this, exp.Schema) else insert.this
    if not isinstance(target, exp.Table):
        raise UnreadableQueryError("an INSERT into no table")
    check_known(target)
    return target


def _insert_columns(insert: exp.Insert, result: Relation) -> list[str]:
    """The columns that an INSERT names, in the order of its result; empty if it names none."""
    if isinstance(insert.this, exp.Schema):
        return [column.name for column in insert.this.expressions]
    if not insert.args.get("by_name"):
        return []
    names = [column.name for column in result.columns if column.name is not None]
    if len(names) != len(result.columns):
        raise UnreadableQueryError("a column without a known name BY NAME")
    return names


def _whole_name(parts: NameParts, query: StoredQuery, catalog: str) -> NameParts:
    """A name with catalog and namespace; `catalog` if the query does not say which is current."""
    current = (query.current_catalog or catalog, *query.current_namespace)
    whole = (*current[: max(_NAME_LENGTH - len(parts), 0)], *parts)
    if len(whole) != _NAME_LENGTH:
        raise UnreadableQueryError(f"not a name of a table: {'.'.join(parts)}")
    return whole


@dataclass(slots=True)
class _Names:
    """What the names of a query stand for; gathers the directories of the tables among them."""

    catalog: str
    query: StoredQuery
    find: FindNamed
    locations: set[str] = field(default_factory=set)

    def __call__(self, parts: NameParts) -> tuple[NameParts, Relation]:
        whole = _whole_name(parts, self.query, self.catalog)
        catalog, namespace, name = whole
        is_own = catalog.lower() == self.catalog.lower()
        named = self.find(Identifier(namespace, name)) if is_own else None
        if named is None:
            raise UnreadableQueryError(f"not in this warehouse: {'.'.join(whole)}")
        if named.query is None:
            columns = tuple(
                ResultColumn(name, frozenset((SourceColumn(named.identifier, name),)))
                for name in named.columns
            )
            self.locations |= set() if named.location is None else {named.location}
            return whole, Relation(columns)
        inner = _Names(self.catalog, named.query, self.find, self.locations)
        text = parsed_query(named.query)
        found = QueryReader(inner, text.lost).result(text.tree).cut_to(named.query.columns)
        return whole, found.renamed(named.columns) if named.columns else found


def _sorted(sources: Sources) -> Sequence[SourceColumn]:
    return sorted(sources, key=lambda one: (one.table.key, one.name))
