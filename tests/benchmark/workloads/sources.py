"""How fast jobs take rows from databases and topics, and when a commit of a database can be read.

Each table is compared with its source before its time counts: by the number of rows and sums, which
the database computes itself.
"""

from __future__ import annotations

import contextlib
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, Final

import pyarrow.compute as pc

from servers.kafka_broker import KafkaBroker
from servers.mariadb_server import MariadbServer
from servers.postgres_server import PostgresServer
from table_store import jobs, open_table
from tests.benchmark.bench import Bench
from tests.benchmark.measurements import OURS, WrongResultError
from tests.integration.streaming_mode import streaming

_COLUMNS: Final = (
    "(id BIGINT, category INT, price DECIMAL(10, 2), note STRING, PRIMARY KEY (id) NOT ENFORCED)"
)
_OF_DATABASE: Final = "seq, seq % 1000, (seq % 10000) / 100, concat('order number ', seq)"
_OF_SPARK: Final = (
    "SELECT id, CAST(id % 1000 AS INT) AS category, "
    "CAST((id % 10000) / 100 AS DECIMAL(10, 2)) AS price, concat('order number ', id) AS note "
    "FROM range(1, {0} + 1)"
)
_SUMS: Final = "SELECT count(*), sum(id), sum(category), sum(price) FROM {}"
_TRANSACTIONS: Final = 20
_COMMITS: Final = 60
_FIRST_COMMITS: Final = 5
"""They meet a job that warms up, and are not counted."""
_PAUSE_S: Final = 0.02
_LONGEST_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class _Database:
    """A server, and how its SQL makes numbers in a column `seq`."""

    name: str
    run: Callable[..., list[tuple[Any, ...]]]
    options: Callable[..., str]
    numbers: str
    after_create: tuple[str, ...] = ()


@dataclass(slots=True)
class Sources:
    """Rows of MariaDB, of PostgreSQL and of topics; then single commits of MariaDB."""

    bench: Bench
    broker: KafkaBroker

    def run(self) -> None:
        """All of them, in a namespace of its own."""
        self._say("CREATE NAMESPACE table_store.sources")
        self._say("USE table_store.sources")
        server = MariadbServer(self.bench.folder / "mariadb")
        try:
            numbers = "seq_1_to_{}"
            self._database(_Database("mysql-cdc", server.run, server.options, numbers))
            self._commits(server)
        finally:
            server.stop()
        postgres = PostgresServer()
        try:
            full = ("ALTER TABLE orders REPLICA IDENTITY FULL",)
            numbers = "generate_series(1, {}) AS s(seq)"
            self._database(_Database("postgres-cdc", postgres.run, postgres.options, numbers, full))
        finally:
            postgres.remove()
        for kind in ("json", "debezium-json"):
            self._topic(kind)

    # -- databases ---------------------------------------------------------------------------------

    def _database(self, database: _Database) -> None:
        rows = self.bench.rows
        self.bench.say(f"{database.name}: {rows:,} rows")
        database.run(
            "CREATE TABLE orders (id BIGINT PRIMARY KEY, category INT, price DECIMAL(10, 2), "
            "note VARCHAR(40))",
            *database.after_create,
            f"INSERT INTO orders SELECT {_OF_DATABASE} FROM {database.numbers.format(rows)}",
        )
        source, table = f"from_{database.name}".replace("-", "_"), f"of_{database.name[:5]}"
        self._say(f"CREATE TEMPORARY TABLE {source} {_COLUMNS} {database.options('orders')}")
        self._say(f"CREATE TABLE {table} {_COLUMNS}")
        truth = partial(database.run, _SUMS.format("orders"))
        self._taken(f"{database.name}, rows of a table", table, source, rows, truth)
        changed = rows // 10
        for part in range(_TRANSACTIONS):
            first, last = (changed * k // _TRANSACTIONS for k in (part, part + 1))
            database.run(f"UPDATE orders SET price = price + 1 WHERE id > {first} AND id <= {last}")
        self._taken(f"{database.name}, changes of its log", table, source, changed, truth)

    def _taken(
        self,
        work: str,
        table: str,
        source: str,
        rows: int,
        truth: Callable[[], list[tuple[Any, ...]]],
    ) -> None:
        """Measure a job from its start until its table has all of the source."""
        seconds = self.bench.measured.measure(work, OURS, partial(self._follow, table, source))
        (found,) = self.bench.spark.sql(_SUMS.format(table)).collect()
        (expected,) = truth()
        if list(map(Decimal, found)) != list(map(Decimal, expected)):
            raise WrongResultError(f"{work}: the table has {found}, its source {expected}")
        assert seconds is not None
        self.bench.measured.figures[work] = {"rows": rows, "rows_per_s": rows / seconds}

    def _follow(self, table: str, source: str) -> None:
        with self._running(f"INSERT INTO {table} SELECT * FROM {source}"):
            jobs.flush(self.bench.spark, table)

    @contextlib.contextmanager
    def _running(self, *inserts: str) -> Iterator[None]:
        with streaming(self.bench.spark, "1 s"):
            started = [self.bench.spark.sql(one).collect()[0].job for one in inserts]
        yield
        for job in reversed(started):
            jobs.stop_job(self.bench.spark, job)

    def _commits(self, server: MariadbServer) -> None:
        """A commit a second; when does an aggregate over a copy of the table show it?"""
        self.bench.say("commits until they can be read")
        server.run("CREATE TABLE sales (id BIGINT PRIMARY KEY, category INT, price BIGINT)")
        columns = "(id BIGINT, category INT, price BIGINT, PRIMARY KEY (id) NOT ENFORCED)"
        self._say(f"CREATE TEMPORARY TABLE sales_source {columns} {server.options('sales')}")
        self._say(f"CREATE TABLE ods {columns}")
        self._say(
            "CREATE TABLE dws (category INT, n BIGINT, gmv BIGINT, PRIMARY KEY (category) "
            "NOT ENFORCED)"
        )
        dws = open_table(self.bench.location("table_store.sources.dws")).storage
        taken: list[float] = []
        with self._running(
            "INSERT INTO ods SELECT * FROM sales_source",
            "INSERT INTO dws SELECT category, count(*), sum(price) FROM ods GROUP BY category",
        ):
            for number in range(1, _COMMITS + 1):
                server.run(f"INSERT INTO sales VALUES ({number}, {number % 7}, {number})")
                begin = time.monotonic()
                while (pc.sum(dws.scan(["n"]).to_arrow()["n"]).as_py() or 0) < number:
                    if time.monotonic() - begin > _LONGEST_S:
                        raise WrongResultError(f"commit {number} does not arrive")
                    time.sleep(_PAUSE_S)
                taken.append(time.monotonic() - begin)
                time.sleep(max(0.0, begin + 1.0 + number % 10 / 10 - time.monotonic()))
        counted = sorted(taken[_FIRST_COMMITS:])
        gmv = pc.sum(dws.scan(["gmv"]).to_arrow()["gmv"]).as_py()
        if gmv != _COMMITS * (_COMMITS + 1) // 2:
            raise WrongResultError(f"the sums of the commits are {gmv}")
        self.bench.measured.figures["commit of MariaDB until its aggregate can be read"] = {
            "p50_s": statistics.median(counted),
            "p99_s": counted[round(0.99 * (len(counted) - 1))],
            "max_s": counted[-1],
        }

    # -- topics ------------------------------------------------------------------------------------

    def _topic(self, kind: str) -> None:
        rows, name = self.bench.rows, kind.replace("-", "_")
        self.bench.say(f"kafka, {kind}: {rows:,} records")
        topic = f"sources_{name}"
        self.broker.create_topic(topic, partitions=2)
        options = (
            f"WITH ('connector' = 'kafka', 'topic' = '{topic}', 'format' = '{kind}', "
            f"'properties.bootstrap.servers' = '{self.broker.bootstrap}'"
        )
        columns = "(id BIGINT, category INT, price DECIMAL(10, 2), note STRING)"
        self._say(f"CREATE TEMPORARY TABLE to_{name} {columns} {options})")
        begin = "'scan.startup.mode' = 'earliest-offset'"
        self._say(f"CREATE TEMPORARY TABLE from_{name} {columns} {options}, {begin})")
        keyed = _COLUMNS if kind == "debezium-json" else columns
        self._say(f"CREATE TABLE of_{name} {keyed}")
        made = _OF_SPARK.format(rows)
        wrote = f"kafka, {kind}, written"
        seconds = self.bench.measured.measure(
            wrote, OURS, lambda: self._say(f"INSERT INTO to_{name} {made}")
        )
        assert seconds is not None
        self.bench.measured.figures[wrote] = {"rows": rows, "rows_per_s": rows / seconds}
        truth = partial(self._rows, _SUMS.format(f"({made})"))
        self._taken(f"kafka, {kind}, read", f"of_{name}", f"from_{name}", rows, truth)

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.bench.spark.sql(query).collect()]

    def _say(self, statement: str) -> None:
        self.bench.spark.sql(statement).collect()
