"""The query of a materialized view, analysed by Spark."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from pyspark.sql import DataFrame

from table_store.catalog.connectors.connector_name import connector_of
from table_store.catalog.connectors.source import gives_changes
from table_store.catalog.jobs.delta import Delta
from table_store.catalog.jobs.progress import Followed
from table_store.catalog.jobs.query_plan import QueryPlan
from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.epochs.difference import CHANGE_TYPE, WEIGHT, changes
from table_store.catalog.planner.epochs.lasting_meaning import (
    check_meaning,
    function_of_time,
    meaning_of,
    seen_schema,
    used_fields,
)
from table_store.catalog.planner.process.parallel_steps import at_once
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.json_form import from_json, to_json
from table_store.catalog.planner.protocol.materialized_views import QueryFacts
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.logged_table import open_logged

_STATELESS: Final = frozenset(
    ("Source", "Project", "Filter", "Union", "Generate", "OneRowRelation")
)
AS_THEY_ARE: Final[Mapping[str, int]] = FrozenMap()
"""No snapshots of tables that are to be read at others than their last ones."""

NO_STATES: Final[Mapping[int, DataFrame]] = FrozenMap()

_HELD_ROWS_MAX: Final = 100_000
"""More changes or keys than these stay in Spark."""


@dataclass(slots=True)
class _InJvm:
    """A query in the JVM, brought to the snapshots of its tables when it is first asked for rows.

    Attributes:
        analysed: over the snapshots at which the tables were then.
        snapshots: others, as JSON, by directory; None for those.
    """

    analysed: Any
    snapshots: str | None = None
    _query: Any = None

    def query(self) -> Any:
        """The query over the snapshots."""
        if self._query is None:
            is_moved = self.snapshots is not None
            self._query = self.analysed.at(self.snapshots) if is_moved else self.analysed
        return self._query


@dataclass(frozen=True, slots=True)
class JobQuery:
    """A query over the snapshots at which its tables were when it was analysed.

    Attributes:
        session: in which it was analysed.
        facts: what Spark says of it.
        created: the times (ms since 1970) when the tables were created, by directory.
        meaning: a fingerprint: the same as long as it and the views in it mean the same. Which
            columns it uses counts, and their types, not what they and their tables are called.
    """

    session: PlannerSession
    facts: QueryFacts
    created: Mapping[str, int]
    meaning: str
    _in_jvm: _InJvm

    @classmethod
    def analysed(
        cls, session: PlannerSession, query: StoredQuery, snapshots: Mapping[str, int] = AS_THEY_ARE
    ) -> JobQuery:
        """Analyse a stored query; Spark's own errors are raised unchanged.

        `snapshots` has those of tables, by directory, that are not read as they are now.

        Raises:
            UnsupportedQueryError: a view cannot be kept equal to it.
        """
        analysed = session.bridge.JobQuery.of(
            session.spark._jsparkSession,
            json.dumps(to_json(query)),
            _texts(snapshots),
            _HELD_ROWS_MAX,
        )
        facts = from_json(QueryFacts, json.loads(analysed.facts()))
        check_meaning(facts)
        paths = {source.table_handle.path for source in facts.sources}
        created = {path: open_logged(path).created_ms for path in paths}
        return cls(session, facts, created, meaning_of(facts, created), _InJvm(analysed))

    def at(self, snapshots: Mapping[str, int]) -> JobQuery:
        """The same, if it is lasting, over other snapshots of all of its tables, by directory."""
        sources = tuple(
            replace(
                source,
                handle=replace(
                    source.table_handle, snapshot_id=snapshots[source.table_handle.path] or None
                ),
            )
            for source in self.facts.sources
        )
        moved = _InJvm(self._in_jvm.analysed, _texts(snapshots))
        return replace(self, facts=replace(self.facts, sources=sources), _in_jvm=moved)

    def in_session(self, session: PlannerSession) -> JobQuery:
        """The same for a request of another session."""
        return replace(self, session=session)

    @property
    def _jvm_query(self) -> Any:
        return self._in_jvm.query()

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
    def source_rows(self) -> list[int]:
        """About how many rows each of its sources has."""
        external, counts = self.external, []
        for source in self.facts.sources:
            handle = source.table_handle
            at = handle.snapshot_id or 0
            if at and handle.path not in external:
                snapshots = open_logged(handle.path).snapshot_store
                at = snapshots.get(at).total_record_count
            counts.append(at)
        return counts

    @property
    def external(self) -> frozenset[str]:
        """The directories of those of its sources whose rows a connector makes."""
        return frozenset(
            handle.path
            for handle in (source.table_handle for source in self.facts.sources)
            if connector_of(seen_schema(handle, self.created)) is not None
        )

    @property
    def gives_changes(self) -> bool:
        """Whether a source gives changes of rows, of which some may come once more.

        Then no two of them cancel out, and the last one of a key counts.
        """
        handles = [source.table_handle for source in self.facts.sources]
        return any(gives_changes(seen_schema(handle, self.created)) for handle in handles)

    @property
    def stateful(self) -> str | None:
        """The kind of a node that needs rows of former epochs; None if none does."""
        return self.stateful_besides(frozenset())

    def stateful_besides(self, kinds: frozenset[str]) -> str | None:
        """The same, of nodes that are of none of some kinds."""
        known = _STATELESS | kinds
        return next((n.kind for n in self.plan.nodes if n.kind not in known), None)

    @property
    def table_rows(self) -> dict[int, int]:
        """About how many rows each table of the plan has, by number."""
        counts, nodes = self.source_rows, self.plan.nodes
        return {n: counts[node.source] for n, node in enumerate(nodes) if node.source is not None}

    def know_rows(self, rows: Mapping[int, int]) -> None:
        """Let rows be read by keys where tables, by number, have many."""
        self._jvm_query.know(_texts(rows))

    def used_fields(self, number: int) -> list[Field]:
        """The columns that the query uses of the source of a number."""
        return used_fields(self.facts, number, self.created)

    @property
    def followed(self) -> Followed:
        """What the result is that of."""
        return Followed(sources=self.sources, created=self.created, plan=self.meaning)

    @property
    def always_changes(self) -> str | None:
        """Why the result may change though no managed table does; None if it cannot."""
        if self.facts.others:
            return f"no changes are known of {self.facts.others[0]}"
        timely = function_of_time(self.facts)
        return None if timely is None else f"{timely} depends on the time"

    def rows(self) -> DataFrame:
        """The result."""
        return self._frame(self._jvm_query.frame())

    def rows_at(self, sources: Mapping[str, int]) -> DataFrame:
        """The result over other snapshots of its tables, by directory; 0 before the first one."""
        return self._frame(self._jvm_query.frameAt(_texts(sources)))

    @property
    def plan(self) -> QueryPlan:
        """The plan, whose nodes name some of `facts.sources` by position."""
        return QueryPlan(self.facts.nodes, self.facts.kept_keys)

    def evaluated(
        self,
        node: int,
        old: Mapping[int, int],
        cut: int = -1,
        keys: DataFrame | None = None,
        states: Mapping[int, DataFrame] = NO_STATES,
    ) -> DataFrame:
        """A node's rows, cut to the keys of the node `cut` if there are any.

        `old` has the snapshots of the tables that are read as they were by number; 0 before the
        first one. `states` has the groups of aggregates whose own tables need not be read.
        """
        at, by_key = (-1, None) if keys is None else (cut, keys._jdf)
        held = _frames(states)
        return self._frame(self._jvm_query.evaluated(node, _texts(old), held, at, by_key))

    def replaced(
        self,
        node: int,
        place: int,
        rows: DataFrame,
        old: Mapping[int, int],
        states: Mapping[int, DataFrame] = NO_STATES,
    ) -> DataFrame:
        """A node's rows if `rows` stand for its child at `place`, those of a union alone."""
        held = _frames(states)
        return self._frame(self._jvm_query.replaced(node, place, rows._jdf, _texts(old), held))

    def beside(
        self,
        node: int,
        place: int,
        changes: Delta[DataFrame],
        old: Mapping[int, int],
        states: Mapping[int, DataFrame] = NO_STATES,
    ) -> DataFrame | None:
        """The rows of a join's other child that changes of the one at `place` may meet, settled.

        None if the changes are not held in the driver.
        """
        frames = [rows._jdf for rows, _ in changes]
        found = self._jvm_query.beside(node, place, frames, _texts(old), _frames(states))
        return None if found is None else self._frame(found)

    def joined(self, node: int, place: int, rows: DataFrame, beside: DataFrame) -> DataFrame | None:
        """A join's rows if `rows` stand for its child at `place` and `beside` for the other one.

        Settled; None if there are none.
        """
        found = self._jvm_query.joined(node, place, rows._jdf, beside._jdf)
        return self._some(found)

    def merged(self, node: int, parts: Delta[DataFrame], state: DataFrame) -> DataFrame | None:
        """The groups of an aggregate that change with its child, before and after, settled.

        `state` has all groups as they were.
        """
        frames = [rows._jdf for rows, _ in parts]
        signs = json.dumps([sign for _, sign in parts])
        return self._some(self._jvm_query.merged(node, frames, signs, state._jdf))

    def state_change(self, node: int, merged: DataFrame, change_type: str) -> DataFrame:
        """What writes the changed groups; the column `change_type` says how."""
        return self._frame(self._jvm_query.stateChange(node, merged._jdf, change_type))

    def state(self, node: int, rows: DataFrame) -> DataFrame:
        """The groups of all rows of an aggregate's child."""
        return self._frame(self._jvm_query.state(node, rows._jdf))

    def result_of(self, node: int, merged: DataFrame, *, is_after: bool) -> DataFrame:
        """The rows of an aggregate for changed groups, after the change or before it."""
        return self._frame(self._jvm_query.resultOf(node, merged._jdf, is_after))

    def window_times(self) -> list[tuple[str, str]] | str:
        """The columns, each with its table's directory, that say in which windows rows are.

        A text says why the query cannot be cut to windows.
        """
        found = json.loads(self._jvm_query.windowTimes())
        if "problem" in found:
            return str(found["problem"])
        return [(time["path"], time["column"]) for time in found["times"]]

    def closed_windows(self, after_ms: int | None, until_ms: int) -> DataFrame:
        """The result of the windows that end after a time, None for any, and not after another one.

        Ms since 1970.
        """
        return self._frame(self._jvm_query.closedWindows(after_ms, until_ms))

    def late_rows(self, node: int, parts: Delta[DataFrame], until_ms: int) -> int:
        """How many rows that come to an aggregate's child are of windows that end until a time."""
        frames = [rows._jdf for rows, _ in parts]
        signs = json.dumps([sign for _, sign in parts])
        return int(self._jvm_query.lateRows(node, frames, signs, until_ms))

    def table(self, name: str, description: str) -> DataFrame:
        """The rows of a table that is in no catalog, by the JSON of a `DescribedTable`."""
        return self._frame(self._jvm_query.table(name, description))

    def table_changes(self, description: str, options: Mapping[str, str]) -> DataFrame:
        """The changes of a table by the JSON of a `Changelog`, read with some options."""
        return self._frame(self._jvm_query.tableChanges(description, json.dumps(dict(options))))

    def shared(self, key: str) -> DataFrame | None:
        """Changes that `share` holds under a key; the kind of a change is the last column."""
        found = self._jvm_query.shared(key)
        return None if found is None else self._frame(found)

    def share(self, key: str, changes: DataFrame) -> None:
        """Hold settled changes for whoever follows the same table next, if they are few."""
        self._jvm_query.share(key, changes._jdf)

    def keys(self, node: int, changes: Mapping[int, Delta[DataFrame]]) -> DataFrame | None:
        """The keys of the changes of a node's children, by place, settled."""
        parts = [(place, rows._jdf) for place, found in changes.items() for rows, _ in found]
        places, frames = map(list, zip(*parts, strict=True))
        return self._some(self._jvm_query.keysOf(node, json.dumps(places), frames))

    def changes(self, parts: Delta[DataFrame], names: Sequence[str]) -> DataFrame | None:
        """The sum of bags as `difference.changes` gives it, settled."""
        bags = at_once(self.session, [partial(self._settled, rows) for rows, _ in parts])
        signs = json.dumps([sign for _, sign in parts])
        known = self._jvm_query.changes(bags, signs, json.dumps(list(names)), CHANGE_TYPE)
        if known is not None:
            return self._some(known)
        settled = [(self._frame(bag), sign) for bag, (_, sign) in zip(bags, parts, strict=True)]
        return self.settled(changes(settled, names))

    def weighted(
        self, changes: DataFrame, columns: Iterable[str], change_type: str
    ) -> Delta[DataFrame]:
        """Columns, each as SQL, of rows of which the column `change_type` says whether they come.

        They are one bag, whose last column has the weights of its rows.
        """
        weight = f"IF({quoted(change_type)} = 'insert', 1, -1) AS {WEIGHT}"
        found = self._jvm_query.selected(changes._jdf, json.dumps([*columns, weight]))
        return [(self._frame(found), 1)]

    def with_keys(self, rows: DataFrame, keys: DataFrame) -> DataFrame:
        """The rows of the result among `rows` whose keys, of the plan's top, are among `keys`."""
        return self._frame(self._jvm_query.withKeys(rows._jdf, keys._jdf))

    def settled(self, frame: DataFrame) -> DataFrame | None:
        """The same rows, which are not computed again until `release`; None if there are none."""
        return self._some(self._settled(frame))

    def _settled(self, frame: DataFrame) -> Any:
        return self._jvm_query.settled(frame._jdf)

    def release(self) -> None:
        """Give up what `settled` has kept."""
        self._jvm_query.release()

    def _some(self, settled: Any) -> DataFrame | None:
        return None if self._jvm_query.isEmpty(settled) else self._frame(settled)

    def _frame(self, jvm_frame: Any) -> DataFrame:
        return DataFrame(jvm_frame, self.session.spark)

    def sql_at(self, text: str, snapshots: Mapping[str, int]) -> DataFrame:
        """The rows of another query in the same session of Spark, over snapshots of its tables.

        Tables are named by directory, and have the columns of today, whatever they were called.
        """
        return self._frame(self._jvm_query.sqlAt(text, _texts(snapshots)))


def _frames(states: Mapping[int, DataFrame]) -> dict[int, Any]:
    return {node: rows._jdf for node, rows in states.items()}


def _texts(numbers: Mapping[int, int] | Mapping[str, int]) -> str:
    return json.dumps({key: str(number) for key, number in numbers.items()})
