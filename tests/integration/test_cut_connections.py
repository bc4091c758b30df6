"""Goal: a job over a database loses and doubles nothing, wherever its connections are cut.

Oracle: the database's own rows, by a plain client that nobody cuts.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from servers.mariadb_server import MariadbServer
from table_store import jobs
from tests.fakes.short_connections import ShortConnections
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

CUTS = 6
FIRST_CUT_BYTES = 300_000
"""Within the first rows, of which there are 1.2 million bytes."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("cut"), OWN_NAME) as session:
        yield session


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MariadbServer]:
    found = MariadbServer(tmp_path_factory.mktemp("mariadb"))
    yield found
    found.stop()


@contextmanager
def cutting(proxy: ShortConnections) -> Iterator[list[int]]:
    """Cut the connections again and again, each time after other numbers of bytes.

    Yields those numbers of the cuts so far. No more cuts are made behind it.
    """
    choose, done = random.Random(11), threading.Event()
    cuts: list[int] = []

    def cut() -> None:
        allowed = FIRST_CUT_BYTES
        while not done.is_set():
            proxy.allow(allowed)
            while not proxy.has_cut and not done.wait(0.01):
                pass
            if proxy.has_cut:
                cuts.append(allowed)
            # Some in the first packets of a connection, some in the middle of a read.
            allowed = choose.randrange(*choose.choice([(0, 300), (300, 3_000), (3_000, 80_000)]))

    thread = threading.Thread(target=cut)
    thread.start()
    try:
        yield cuts
    finally:
        done.set()
        thread.join()
        proxy.left = None


def test_a_job_has_all_rows_wherever_it_is_cut(spark: SparkSession, server: MariadbServer) -> None:
    """Within the first rows, and in the changes behind them."""
    server.run(
        "CREATE TABLE cut (id BIGINT PRIMARY KEY, v VARCHAR(500))",
        "INSERT INTO cut SELECT seq, repeat(char(65 + seq % 26), 400) FROM seq_1_to_3000",
    )
    proxy, choose = ShortConnections(server.port), random.Random(12)
    declared = "(id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)"
    options = server.options("cut", scan__incremental__snapshot__chunk__size="500")
    options = options.replace(f"'{server.port}'", f"'{proxy.port}'")
    spark.sql(f"CREATE TABLE from_cut {declared} {options}")
    spark.sql(f"CREATE TABLE cut {declared}")
    end = time.monotonic() + 240
    try:
        with unlogged_errors(), cutting(proxy) as cuts:
            with streaming(spark, "100 ms"):
                spark.sql("INSERT INTO cut SELECT * FROM from_cut").collect()
            while len(cuts) < CUTS:
                one, other = choose.randrange(4_000), choose.randrange(4_000)
                server.run(
                    f"REPLACE INTO cut SELECT {one} + seq, repeat('é', 200) FROM seq_1_to_20",
                    f"DELETE FROM cut WHERE id BETWEEN {other} AND {other + 9}",
                    f"UPDATE cut SET v = '{one}' WHERE id % 100 = {other % 100}",
                )
                time.sleep(0.02)
                assert time.monotonic() < end, cuts
        jobs.flush(spark)
        (job,) = spark.sql("SHOW JOBS").collect()
        assert (job.state, job.error) == ("RUNNING", None)
        found = sorted(tuple(row) for row in spark.table("cut").collect())
        assert found == sorted(server.run("SELECT * FROM cut"))
    finally:
        proxy.close()
