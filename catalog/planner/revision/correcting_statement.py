"""The statement that corrects a table: it must change this table's rows, and take effect once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.jobs.revision_errors import RevisionError
from table_store.catalog.meta_service.revision import REVISER
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.planner.jobs.streaming_insert import RUNTIME_MODE
from table_store.catalog.planner.names.catalog_access import CatalogAccess
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.write.stated_commit import stated_commit
from table_store.catalog.tables.write_options import CommitName
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.errors import TableStoreError

_TARGETS: Final = {
    "InsertIntoStatement": "table",
    "UpdateTable": "table",
    "DeleteFromTable": "table",
    "MergeIntoTable": "targetTable",
    "OverwriteByExpression": "table",
    "TruncateTable": "table",
}
"""What Spark's parser makes of DML, and which part of it is the target."""

_WRAPPERS: Final = {"UnresolvedWith": "child", "SubqueryAlias": "child"}


@dataclass(frozen=True, slots=True)
class CorrectingStatement:
    """A statement, and the table that it is to correct; `name` is how messages call it."""

    session: PlannerSession
    access: CatalogAccess
    table: FileStoreTable
    name: str
    text: str

    def check(self) -> None:
        """Check what it is, without running it.

        Raises:
            RevisionError: it is no INSERT, UPDATE, DELETE, MERGE or TRUNCATE of this table.
        """
        try:
            parser = self.session.spark._jsparkSession.sessionState().sqlParser()
            plan = parser.parsePlan(self.text)
        except CapturedException as error:
            raise self._error(f"its statement is none: {error}") from None
        plan = _unwrapped(plan)
        kind = _kind(plan)
        if kind not in _TARGETS:
            raise self._error("its statement does not change rows of a table")
        if not self._is_target(_unwrapped(getattr(plan, _TARGETS[kind])())):
            raise self._error("its statement changes another table")
        mode = (self.session.conf(RUNTIME_MODE) or "batch").strip().lower()
        if kind == "InsertIntoStatement" and mode == "streaming":
            raise RevisionError(
                table=self.name,
                reason="in streaming mode its INSERT would start a job",
                remedy=f"SET '{RUNTIME_MODE}' = 'batch'",
            )

    def run(self, number: int) -> None:
        """Run it, unless it has committed under this number."""
        if not self.has_run(number):
            with stated_commit(self.table.path, CommitName(user=REVISER, identifier=number)):
                self.session.spark.sql(self.text).collect()

    def has_run(self, number: int) -> bool:
        """Whether it has committed; one that changes no row does not."""
        return self.table.committer().has_committed(REVISER, number)

    def _is_target(self, relation: Any) -> bool:
        if not _kind(relation).startswith("Unresolved"):
            return False
        parts = relation.multipartIdentifier()
        names = [str(parts.apply(at)) for at in range(parts.size())]
        catalog = self.session.spark.catalog.currentCatalog()
        if len(names) == 3:
            catalog, *names = names
        if catalog.lower() != self.access.name.lower() or len(names) > 2:
            return False
        namespace = self.session.namespace_in(self.access.name) if len(names) == 1 else names[0]
        try:
            found = self.access.lifecycle.load(Identifier(namespace, names[-1]))
        except TableStoreError:
            return False
        return found.location == self.table.path

    def _error(self, reason: str) -> RevisionError:
        return RevisionError(
            table=self.name,
            reason=reason,
            remedy=f"Give one INSERT, UPDATE, DELETE, MERGE or TRUNCATE of {self.name}",
        )


def _unwrapped(plan: Any) -> Any:
    while (kind := _kind(plan)) in _WRAPPERS:
        plan = getattr(plan, _WRAPPERS[kind])()
    return plan


def _kind(plan: Any) -> str:
    return str(plan.getClass().getSimpleName())
