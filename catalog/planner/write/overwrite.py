"""Which files an overwrite replaces, and how it replaces rows that are not whole partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from table_store.catalog.definition.declared_type import COLLATIONS
from table_store.catalog.errors import ReplaceConditionError
from table_store.catalog.planner.names.opened_table import OpenedTable
from table_store.catalog.planner.protocol.spark_values import SparkExpression
from table_store.catalog.planner.read.spark_predicate import exact
from table_store.storage.file_store.model.data_file import KIND_DELETE, CommitMessage
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.file_store.model.scope import WHOLE_TABLE, Scope
from table_store.storage.file_store.write.table_writer import TableWriter, WriterContext
from table_store.storage.file_store.write.unpublished_files import delete_files
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.predicate import And, Comparison, IsNull, Predicate
from table_store.storage.kernel.values import Value


def overwrite_scope(schema: TableSchema, predicates: Sequence[SparkExpression]) -> Scope | None:
    """The scope that all `predicates` together describe; None if it is not whole partitions."""
    if not _real(predicates):
        return WHOLE_TABLE
    condition = exact(_real(predicates))
    if condition is None:
        return None
    spec: dict[str, Value] = {}
    for term in _terms(condition):
        if isinstance(term, Comparison) and term.op in ("=", "<=>"):
            column, value = term.column, term.value
        elif isinstance(term, IsNull):
            column, value = term.column, None
        else:
            return None
        name = schema.field_named(column).name
        if name not in schema.partition_keys or name in spec:
            return None
        spec[name] = value
    return Scope(spec=spec)


def replace_condition(
    schema: TableSchema, predicates: Sequence[SparkExpression]
) -> Predicate | None:
    """The condition on rows that an overwrite replaces and writes; None for all rows.

    Raises:
        ReplaceConditionError: storage cannot evaluate the condition exactly.
    """
    if not _real(predicates):
        return None
    condition = exact(_real(predicates))
    if condition is None:
        raise ReplaceConditionError
    for name in condition.columns():
        if any(key == COLLATIONS for key, _ in schema.field_named(name).metadata):
            raise ReplaceConditionError
    return condition


def replaced_rows(
    opened: OpenedTable,
    context: WriterContext,
    condition: Predicate,
    written: Sequence[CommitMessage],
) -> tuple[CommitMessage, ...]:
    """Deletions of all rows that satisfy `condition`, followed by `written`.

    If the deletions cannot be written, the files of `written` are deleted.
    """
    version = opened.snapshot_id
    try:
        with TableWriter(context) as writer:
            if version is not None:
                scan = opened.table.scan(predicate=condition, version=version, schema=opened.schema)
                for batch in scan.to_batches():
                    writer.write(batch, kinds=np.full(batch.num_rows, KIND_DELETE, np.int8))
            deleted = writer.prepare_commit()
    except TableStoreError:
        delete_files(context, written)
        raise
    # Within each bucket, too, the written rows must be newer than the deletions.
    after = 1 + max((f.max_sequence for m in deleted for f in m.added), default=0)
    shifted = [
        replace(message, added=tuple(file.shifted(after) for file in message.added))
        for message in written
    ]
    return (*deleted, *shifted)


def _real(predicates: Sequence[SparkExpression]) -> list[SparkExpression]:
    return [p for p in predicates if p.get("name") != "ALWAYS_TRUE"]


def _terms(predicate: Predicate) -> list[Predicate]:
    if isinstance(predicate, And):
        return [*_terms(predicate.left), *_terms(predicate.right)]
    return [predicate]
