"""Requests about persisted views."""

from __future__ import annotations

from dataclasses import dataclass

from table_store.catalog.names.name_record import ViewDefinition
from table_store.catalog.names.warehouse import DefineMode
from table_store.catalog.planner.protocol.relations import RelationReference
from table_store.catalog.planner.protocol.spark_values import SparkColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class DefineView:
    """CREATE VIEW, CREATE OR REPLACE VIEW or ALTER VIEW … AS."""

    relation: RelationReference
    view: ViewDefinition
    mode: DefineMode


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteViewColumns:
    """Record the columns that a view's query has now, if the query still is `query_text`."""

    relation: RelationReference
    query_text: str
    columns: SparkColumns


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView:
    """DROP VIEW."""

    relation: RelationReference


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameView:
    """ALTER VIEW … RENAME TO."""

    relation: RelationReference
    to: RelationReference
