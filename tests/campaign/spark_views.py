"""Random materialized views over a random history: after each REFRESH they are their queries."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyspark.sql import Row as SparkRow
from pyspark.sql import SparkSession

from table_store import open_table
from table_store.catalog.names.identifier import Identifier
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.table import FileStoreTable
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.campaign.changing_tables import COLUMNS, ChangingTables
from tests.campaign.random_view_queries import ViewQuery
from tests.campaign.spark_program import QUICK, spark_program
from tests.campaign.technique import Case, Counts, Technique

Row: TypeAlias = "tuple[str, ...]"

_VIEWS: Final = 12
_EPOCHS: Final = 3
_DEPTH_MAX: Final = 3
_THREADS: Final = 2
_OF_VIEWS: Final = 0.2
_KEYED: Final = 0.2
_COLLATED: Final = "COLLATE"
"""In the reason to recompute groups of texts that are equal: any text may stand for its group."""
_TABLES: Final = {"a": f"{COLUMNS}, PRIMARY KEY (k) NOT ENFORCED", "b": COLUMNS, "c": COLUMNS}
_EXCLUDED_RULES: Final = "org.apache.spark.sql.catalyst.optimizer.OptimizeOneRowPlan"
"""It leaves out a DISTINCT above a single row, which makes 0.0 of -0.0 above several ones."""


@dataclass(slots=True)
class _View:
    """A materialized view, its table, and its rows when they were last looked at."""

    name: str
    query: str
    has_limit: bool
    table: FileStoreTable = field(repr=False)
    rows: Counter[Row] = field(repr=False)

    def count_changes(self, before: Counter[Row]) -> int:
        """How many rows came and went; a row that changes counts once if it has a key."""
        written = (self.rows - before) + (before - self.rows)
        if self.table.schema.primary_key:
            return len({row[0] for row in written})
        return written.total()


def run_case(case: Case) -> Counts:
    """Make views of random queries, change their tables, refresh, and compare with the queries."""
    session, dice = _session(), case.random()
    name, said = f"v{case.campaign_seed}_{case.number}", case.said
    tables = _tables(session, name, dice)
    said += [line for _ in range(dice.randrange(4)) for line in tables.change_some()]
    views = _made(session, name, dice, said)
    truth = _session_of_truth(tables, views)
    for _ in range(_EPOCHS):
        said += [line for _ in range(2) for line in tables.change_some()]
        said.append("REFRESH of all")
        _check_refreshed(session, truth, tables, views)
    session.sql(f"DROP NAMESPACE {name} CASCADE")
    return {"views": len(views), "refreshes": len(views) * _EPOCHS}


def _session() -> SparkSession:
    session = spark_program().newSession()
    session.conf.set("spark.sql.optimizer.excludedRules", _EXCLUDED_RULES)
    return session


def _tables(session: SparkSession, namespace: str, dice: random.Random) -> ChangingTables:
    session.sql(f"CREATE NAMESPACE {namespace}")
    session.sql(f"USE {namespace}")
    for name, columns in _TABLES.items():
        session.sql(f"CREATE TABLE {name} ({columns})")
    return ChangingTables({name: _opened(session, namespace, name) for name in _TABLES}, dice)


def _made(
    session: SparkSession, namespace: str, dice: random.Random, said: list[str]
) -> list[_View]:
    """Views of tables and of views before them, some of them with a key."""
    views: list[_View] = []
    for number in range(_VIEWS):
        below = [view.name for view in views[-2:]] if dice.random() < _OF_VIEWS else []
        query, depth = ViewQuery(dice, (*_TABLES, *below)), 1 + dice.randrange(_DEPTH_MAX)
        name, columns, text = f"m{number}", "", ""
        if dice.random() < _KEYED:
            columns, text = "(k, v, s, f, d, PRIMARY KEY (k) NOT ENFORCED)", query.keyed_text(depth)
        else:
            text = query.text(depth)
        said.append(
            f"CREATE MATERIALIZED VIEW {name} {columns} REFRESH POLICY INCREMENTAL AS {text}"
        )
        session.sql(said[-1])
        table = _opened(session, namespace, name)
        views.append(_View(name, text, query.has_limit, table, _bag(table)))
    return views


def _check_refreshed(
    session: SparkSession, truth: SparkSession, tables: ChangingTables, views: Sequence[_View]
) -> None:
    """Refresh all views, several at a time, and compare each with its query."""
    _tell_rows(truth, tables)
    with ThreadPoolExecutor(_THREADS) as threads:
        answers = list(threads.map(lambda view: _refreshed(session, view), views))
        results = list(threads.map(lambda view: _result(truth, view), views))
    changed: Counter[str] = Counter()
    limited = {view.name for view in views if view.has_limit}
    for done in (row for answer in answers for row in answer):
        name = done.view.split(".")[-1]
        changed[name] += done.rows_changed
        assert done.rule != "full" or name in limited or _COLLATED in done.reason, done
    for view, wanted in zip(views, results, strict=True):
        before, view.rows = view.rows, _bag(view.table)
        difference = ("only ours", view.rows - wanted, "missing", wanted - view.rows)
        assert view.rows == wanted, (view, *difference)
        assert changed[view.name] == view.count_changes(before), (view, changed[view.name])


def _refreshed(session: SparkSession, view: _View) -> Sequence[SparkRow]:
    """What was done with the view, and with those below it that nobody had refreshed yet."""
    return session.sql(f"REFRESH MATERIALIZED VIEW {view.name}").collect()


def _result(truth: SparkSession, view: _View) -> Counter[Row]:
    return Counter(tuple(map(str, row)) for row in truth.sql(view.query).collect())


def _session_of_truth(tables: ChangingTables, views: Sequence[_View]) -> SparkSession:
    """A session with rows in memory for tables, and with plain views for materialized ones."""
    truth = _session()
    for key, value in QUICK.items():
        truth.conf.set(key, value)
    _tell_rows(truth, tables)
    for view in views:
        truth.sql(f"CREATE TEMPORARY VIEW {view.name} AS {view.query}")
    return truth


def _tell_rows(truth: SparkSession, tables: ChangingTables) -> None:
    for name in _TABLES:
        truth.createDataFrame(tables.rows(name)).createOrReplaceTempView(name)


def _opened(session: SparkSession, namespace: str, name: str) -> FileStoreTable:
    root = str(session.conf.get("spark.sql.warehouse.dir")).removeprefix("file:")
    warehouse = Warehouse(file_io_for(root), root, SystemClock(), RandomIds())
    return open_table(TableLifecycle(warehouse).load(Identifier(namespace, name)).location).storage


def _bag(table: FileStoreTable) -> Counter[Row]:
    """Its rows as texts, which tell 0.0 from -0.0; and NaN is NaN."""
    rows = table.scan().to_arrow().to_pylist()
    return Counter(tuple(map(str, row.values())) for row in rows)


SPARK_VIEWS: Final = Technique(
    name="spark-views",
    goal="after each refresh a view has the rows of its query, and only the difference was written",
    suite_cases=1,
    release_cases=2_000,
    run_case=run_case,
    needs_spark=True,
)
