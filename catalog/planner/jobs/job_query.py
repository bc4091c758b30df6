"""The query of a materialized view, analysed by Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame

from table_store.catalog.errors import UnsupportedQueryError
from table_store.catalog.jobs.delta_terms import DeltaTerm
from table_store.catalog.jobs.query_plan import QueryPlan
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.json_form import from_json
from table_store.catalog.planner.protocol.materialized_views import QueryFacts
from table_store.storage.file_store.model.schema import StoredQuery

# They depend on an order of rows that no query gives, though Spark calls them deterministic.
_ORDER_DEPENDENT: Final = frozenset(
    (
        "any_value",
        "array_agg",
        "collect_list",
        "first",
        "first_value",
        "last",
        "last_value",
        "listagg",
        "mode",
    )
)
_OF_THE_SESSION: Final = frozenset(
    (
        "current_catalog",
        "current_database",
        "current_schema",
        "current_user",
        "input_file_name",
        "session_user",
        "user",
    )
)
_OF_THE_TIME: Final = frozenset(
    (
        "curdate",
        "current_date",
        "current_time",
        "current_timestamp",
        "localtimestamp",
        "now",
    )
)


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A query over the snapshots at which its tables were when it was analysed."""

    session: PlannerSession
    facts: QueryFacts
    _jvm_query: Any

    @classmethod
    def analysed(cls, session: PlannerSession, query: StoredQuery) -> JobQuery:
        """Analyse a stored query; Spark's own errors are raised unchanged.

        Raises:
            UnsupportedQueryError: a view cannot be kept equal to it.
        """
        spark = session.spark
        jvm = spark.sparkContext._jvm
        assert jvm is not None, "the planner is attached to a JVM"
        analysed = jvm.org.apache.spark.sql.tablestore.JobQuery.of(
            spark._jsparkSession,
            query.text,
            query.current_catalog,
            list(query.current_namespace),
            dict(query.settings),
        )
        facts = from_json(QueryFacts, json.loads(analysed.facts()))
        _check(facts)
        return cls(session, facts, analysed)

    @property
    def sources(self) -> dict[str, int]:
        """The snapshot of each managed table by its directory; 0 before its first commit.

        Of a table that is also read AS OF an older version, it is the newest snapshot.
        """
        found: dict[str, int] = {}
        for source in self.facts.sources:
            handle = source.table_handle
            found[handle.path] = max(found.get(handle.path, 0), handle.snapshot_id or 0)
        return found

    @property
    def always_changes(self) -> str | None:
        """Why the result may change though no managed table does; None if it cannot."""
        if self.facts.others:
            return f"no changes are known of {self.facts.others[0]}"
        timely = sorted(_OF_THE_TIME.intersection(self.facts.functions))
        return f"{timely[0]} depends on the time" if timely else None

    def rows(self) -> DataFrame:
        """The result."""
        return DataFrame(self._jvm_query.frame(), self.session.spark)

    @property
    def plan(self) -> QueryPlan:
        """The plan, whose nodes name some of `facts.sources` by position."""
        return QueryPlan(self.facts.nodes)

    def term(self, term: DeltaTerm, rows: DataFrame, old: Mapping[int, int]) -> DataFrame:
        """The result of a term; `rows` stand for the changed table.

        `old` has the snapshots of the tables in `term.old` by node; 0 before the first one.
        """
        versions = {node: str(old[node]) for node in term.old}
        frame = self._jvm_query.term(term.changed, rows._jdf, versions, list(term.empty))
        return DataFrame(frame, self.session.spark)

    def sql(self, text: str) -> DataFrame:
        """The rows of another query, in the same session of Spark."""
        return DataFrame(self._jvm_query.sql(text), self.session.spark)


def _check(facts: QueryFacts) -> None:
    if not facts.is_deterministic:
        raise UnsupportedQueryError(reason="it calls a function that is not deterministic")
    for functions, reason in (
        (_ORDER_DEPENDENT, "its result depends on an order of rows that nothing gives"),
        (_OF_THE_SESSION, "its result depends on the session that runs the query"),
    ):
        found = sorted(functions.intersection(facts.functions))
        if found:
            raise UnsupportedQueryError(reason=f"it calls {found[0]}, and {reason}")
    for source in facts.sources:
        if not isinstance(source.handle, TableHandle):
            name = source.relation.text
            raise UnsupportedQueryError(reason=f"it reads {name}, which is no table with changes")
