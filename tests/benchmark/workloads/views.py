"""Materialized views that follow changes, beside a full refresh and upkeep by MERGE in Delta."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from table_store import open_table
from table_store.storage.file_store.table import FileStoreTable
from tests.benchmark.bench import Bench
from tests.benchmark.measurements import OURS, WrongResultError
from tests.servers.bank_transfers import VIEWS, random_transfers
from tests.servers.tpc_queries import queries
from tests.servers.tpch_data import KEYS, TpchData

FULL: Final = "full refresh"
_DELTA: Final = "delta"
_SMALL_EPOCHS: Final = 40
_UNCHANGED_EPOCHS: Final = 300
"""After these the JVM has compiled what a statement takes that finds nothing to do."""
_WARM_UP_ROUNDS: Final = 2
"""Rounds of refreshes in which the JVM loads and compiles what they need."""
_TPCH_ROWS: Final = 10_000_000
"""A run of so many rows has TPC-H at scale 1: six million lines."""
_BY_DIM: Final = (
    "SELECT d.name, count(*) AS n, sum(f.v) AS v FROM {0}facts f JOIN {0}dims d ON f.dim = d.id "
    "GROUP BY d.name"
)


@dataclass(slots=True)
class Views:
    """The bank's chain of four views, facts joined with dimensions, and TPC-H."""

    bench: Bench
    _random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(23))

    def run(self) -> None:
        """All of them, each in a namespace of its own."""
        for name, run in (("bank", self._bank), ("star", self._star), ("tpch", self._tpch)):
            self.bench.say(f"views: {name}")
            self._say(f"CREATE NAMESPACE table_store.{name}")
            run()
            self._say(f"DROP NAMESPACE table_store.{name} CASCADE")

    def _bank(self) -> None:
        rows = self.bench.rows
        self._say(
            "CREATE TABLE table_store.bank.transactions AS SELECT id, "
            "CAST(rand(1) * 10 AS INT) AS from_account, CAST(rand(2) * 10 AS INT) AS to_account, "
            f"1L AS amount FROM range({rows})"
        )
        self._say("USE table_store.bank")
        for name, query in VIEWS.items():
            self._say(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        table = self._stored("table_store.bank.transactions")
        refresh = partial(self._refresh, "total")
        work = "bank, chain of 4 views: {} rows changed"
        for count, epochs in (
            (10, _SMALL_EPOCHS),
            (10_000, self.bench.repeats),
            (0, _UNCHANGED_EPOCHS),
        ):
            taken = []
            for _ in range(epochs):
                if count:
                    table.append(random_transfers(self._random, count))
                taken.append(self._measure(work.format(f"{count:,}"), OURS, refresh))
            tenth = max(1, epochs // 10)
            self.bench.measured.figures[f"{work.format(f'{count:,}')}, seconds"] = {
                "p50": statistics.median(taken),
                "p99": float(np.quantile(taken, 0.99)),
                "last tenth / first": sum(taken[-tenth:]) / sum(taken[:tenth]),
            }
        (total,) = self.bench.spark.sql("SELECT total FROM total").collect()
        if total[0] != 0:
            raise WrongResultError(f"the balances sum to {total[0]}")
        for _ in range(self.bench.repeats):
            table.append(random_transfers(self._random, 10_000))
            self._measure(work.format("10,000"), FULL, self._refresh_whole_chain)

    def _refresh_whole_chain(self) -> None:
        for name in VIEWS:
            self._refresh(name, "FULL")

    def _star(self) -> None:
        facts, dims = self.bench.rows // 2, max(100, self.bench.rows // 100)
        self._say("USE table_store.star")
        keyed = "PRIMARY KEY (id) NOT ENFORCED"
        self._say(f"CREATE TABLE facts (id BIGINT, dim BIGINT, v BIGINT, {keyed})")
        self._say(f"CREATE TABLE dims (id BIGINT, name STRING, {keyed})")
        self._say(f"INSERT INTO facts SELECT id, id * 7919 % {dims}, id % 100 FROM range({facts})")
        self._say(f"INSERT INTO dims SELECT id, concat('n', id % 1000) FROM range({dims})")
        self._say(f"CREATE MATERIALIZED VIEW by_dim AS {_BY_DIM.format('')}")
        self._copy_to_delta()
        for number in range(self.bench.repeats):
            first = facts + number * 1000
            new = f"SELECT id, id % {dims} AS dim, 5L AS v FROM range({first}, {first + 1000})"
            work = "facts and dims, grouped: 1,000 facts inserted"
            self._follow(work, "by_dim", f"INSERT INTO facts {new}")
            self._upkeep(work, new)
        for number in range(self.bench.repeats):
            ids = f"id BETWEEN {number * 20} AND {number * 20 + 9}"
            self._follow(
                "facts and dims, grouped: 10 dims changed",
                "by_dim",
                f"UPDATE dims SET name = concat('m', id % 1000) WHERE {ids}",
            )
        (differ,) = self.bench.spark.sql(
            f"SELECT count(*) FROM (({_BY_DIM.format('')}) EXCEPT SELECT * FROM by_dim)"
        ).collect()
        if differ[0]:
            raise WrongResultError(f"{differ[0]} groups of the view are not those of its query")

    def _copy_to_delta(self) -> None:
        if _DELTA not in [one.name for one in self.bench.formats]:
            return
        for name in ("facts", "dims", "by_dim"):
            self._say(f"DROP TABLE IF EXISTS spark_catalog.default.view_{name}")
            copy = f"CREATE TABLE spark_catalog.default.view_{name} USING delta AS"
            self._say(f"{copy} SELECT * FROM {name}")

    def _upkeep(self, work: str, new: str) -> None:
        """What one writes by hand for Delta: the new facts, added to their groups."""
        if _DELTA not in [one.name for one in self.bench.formats]:
            return
        prefix = "spark_catalog.default.view_"
        self._say(f"INSERT INTO {prefix}facts {new}")
        more = (
            f"SELECT d.name, count(*) AS n, sum(f.v) AS v FROM ({new}) f JOIN {prefix}dims d "
            "ON f.dim = d.id GROUP BY d.name"
        )
        merge = (
            f"MERGE INTO {prefix}by_dim t USING ({more}) s ON t.name = s.name "
            "WHEN MATCHED THEN UPDATE SET n = t.n + s.n, v = t.v + s.v "
            "WHEN NOT MATCHED THEN INSERT *"
        )
        self.bench.measured.measure(work, _DELTA, partial(self._say, merge))

    def _tpch(self) -> None:
        data = TpchData(self.bench.rows / _TPCH_ROWS)
        self._say("USE table_store.tpch")
        tables = {}
        for name, rows in data.tables().items():
            self._say(
                f"CREATE TABLE {name} ({_columns(rows)}, PRIMARY KEY ({', '.join(KEYS[name])}))"
            )
            tables[name] = self._stored(f"table_store.tpch.{name}")
            tables[name].upsert(rows)
        for name, query in queries("tpch").items():
            self._say(f"CREATE MATERIALIZED VIEW {name} AS {query}")
        count = max(1, round(1500 * data.scale))
        rounds = [(OURS, ""), (FULL, "FULL")] * (_WARM_UP_ROUNDS + self.bench.repeats)
        for number, (engine, option) in enumerate(rounds):
            # As dbgen's refresh functions do: orders that lie together, new ones between the old.
            places = (number * count + np.arange(count)) * 4
            for name, rows in data.orders(places + 2).items():
                tables[name].upsert(rows)
            gone = ", ".join(str(key) for key in places + 1)
            for name, key in (("orders", "o_orderkey"), ("lineitem", "l_orderkey")):
                self._say(f"DELETE FROM {name} WHERE {key} IN ({gone})")
            for name in queries("tpch"):
                refresh = partial(self._refresh, name, option)
                if number < 2 * _WARM_UP_ROUNDS:
                    refresh()
                    continue
                work = f"TPC-H {name}: 0.1 % of orders inserted, 0.1 % deleted"
                self._measure(work, engine, refresh)

    def _follow(self, work: str, view: str, change: str) -> None:
        self._say(change)
        self._measure(work, OURS, partial(self._refresh, view))
        self._measure(work, FULL, partial(self._refresh, view, "FULL"))

    def _measure(self, work: str, engine: str, run: Callable[[], Any]) -> float:
        return self.bench.measured.measure(work, engine, run) or 0.0

    def _refresh(self, view: str, option: str = "") -> None:
        # It has ended when `sql` returns; to fetch its answer is another query.
        self.bench.spark.sql(f"REFRESH MATERIALIZED VIEW {view} {option}")

    def _say(self, statement: str) -> None:
        self.bench.spark.sql(statement).collect()

    def _stored(self, table: str) -> FileStoreTable:
        return open_table(self.bench.location(table)).storage


def _columns(rows: pa.Table) -> str:
    spelled = {pa.int64(): "BIGINT", pa.int32(): "INT", pa.date32(): "DATE", pa.string(): "STRING"}
    return ", ".join(
        f"{column.name} {spelled.get(column.type, 'DECIMAL(15, 2)')}" for column in rows.schema
    )
