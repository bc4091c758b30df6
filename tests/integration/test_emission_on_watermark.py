"""Goal: with 'sink.emit' = 'on-watermark' a window's rows come once, when it is closed, for good.

Oracle: a model in Python that takes the rows in the order of their commits, barrier by barrier.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from table_store import open_table
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.job_script import JobScript
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, streaming

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("no_jobs")]

DELAY = 60
BEGIN = 1_774_742_400
"""Seconds since 1970, a multiple of an hour."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("emission"), OWN_NAME) as session:
        session.sql("SET TIME ZONE 'Asia/Tokyo'")
        yield session


@dataclass
class Model:
    """What a query over hopping windows of seconds has brought out, as {(start, key): sum}."""

    slide: int
    size: int
    rows: list[tuple[int, str, int]] = field(default_factory=list)
    out: dict[tuple[int, str], int] = field(default_factory=dict)
    closed: float = float("-inf")
    late: int = 0

    def starts(self, ts: int) -> list[int]:
        last = ts // self.slide * self.slide
        return [s for s in range(last, ts - self.size, -self.slide) if s <= ts < s + self.size]

    def barrier(self, new: list[tuple[int, str, int]]) -> None:
        """Take the rows (time, key, value) that have come since the last one."""
        for ts, _, _ in new:
            self.late += sum(s + self.size <= self.closed for s in self.starts(ts))
        self.rows += new
        until = max([self.closed, *(ts - DELAY for ts, _, _ in self.rows)])
        sums: dict[tuple[int, str], int] = {}
        for ts, key, value in self.rows:
            for start in self.starts(ts):
                if self.closed < start + self.size <= until:
                    sums[start, key] = sums.get((start, key), 0) + value
        assert not sums.keys() & self.out.keys()
        self.out |= sums
        self.closed = until


def insert(spark: SparkSession, statement: str) -> str:
    """A job whose barriers are those that are asked for."""
    with streaming(spark, "1 h"):
        return str(spark.sql(statement).collect()[0].job)


def details(spark: SparkSession, job: str) -> dict[str, str]:
    return {row.info_name: row.info_value for row in spark.sql(f"DESCRIBE JOB '{job}'").collect()}


def add(spark: SparkSession, table: str, rows: list[tuple[int, str, int]]) -> None:
    values = ", ".join(f"(timestamp_seconds({ts}), '{key}', {value})" for ts, key, value in rows)
    spark.sql(f"INSERT INTO {table} VALUES {values}")


def events(spark: SparkSession, name: str, kind: str = "TIMESTAMP") -> None:
    spark.sql(
        f"CREATE TABLE {name} (ts {kind}, k STRING, v INT, "
        f"WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND)"
    )


def seconds(time: datetime) -> int:
    """Of a time of a zone as JSON has it."""
    return int(time.replace(tzinfo=time.tzinfo or UTC).timestamp())


HOP = "HOP(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)"


def test_windows_come_once_to_a_sink_that_takes_new_rows_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Random rows, some of them late, into files and into a table; a job is stopped."""
    events(spark, "e")
    spark.sql(
        "CREATE TABLE files (start BIGINT, k STRING, total BIGINT) WITH ("
        f"'connector' = 'filesystem', 'path' = '{tmp_path}/out', 'format' = 'json')"
    )
    spark.sql("CREATE TABLE keyed (w STRUCT<start: TIMESTAMP, end: TIMESTAMP>, k STRING, n BIGINT)")
    to_files = (
        "INSERT INTO files WITH ('sink.emit' = 'on-watermark') "
        "SELECT unix_seconds(window_start), k, sum(v) AS total "
        f"FROM {HOP.format(t='e')} GROUP BY window_start, window_end, k"
    )
    job = insert(spark, to_files)
    insert(
        spark,
        "INSERT INTO keyed /*+ OPTIONS('sink.emit' = 'on-watermark') */ "
        "SELECT window(ts, '4 minutes'), k, sum(v) FROM e GROUP BY window(ts, '4 minutes'), k",
    )
    hop, tumble = Model(300, 600), Model(240, 240)
    choice = random.Random(3)
    now = BEGIN
    for number in range(7):
        rows = []
        for _ in range(12):
            now += choice.randrange(60)
            back = choice.choice((0, 0, 30, 200, 900))
            rows.append((now - back, choice.choice("ab"), choice.randrange(100)))
        add(spark, "e", rows)
        if number == 4:
            # Nothing is lost or doubled by a stop; what comes meanwhile is of one barrier.
            spark.sql(f"STOP JOB '{job}'")
            flush(spark)
            tumble.barrier(rows)
            held = rows
            continue
        flush(spark)
        if number == 5:
            job = insert(spark, to_files)
            flush(spark)
            hop.barrier([*held, *rows])
        else:
            hop.barrier(rows)
        tumble.barrier(rows)
        assert lines(tmp_path / "out") == Counter(
            (start, key, total) for (start, key), total in hop.out.items()
        )
    assert hop.out
    assert hop.late
    found = spark.sql("SELECT unix_seconds(w.start) AS s, w.end - w.start AS d, k, n FROM keyed")
    assert Counter(found.collect()) == Counter(
        (start, timedelta(minutes=4), key, total) for (start, key), total in tumble.out.items()
    )
    told = details(spark, job)
    assert told["rule"] == "on watermark"
    assert int(told["rows_late"]) > 0


def lines(folder: Path) -> Counter[tuple[int, str, int]]:
    found: Counter[tuple[int, str, int]] = Counter()
    for file in folder.rglob("*.json"):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[row["start"], row["k"], row["total"]] += 1
    return found


def test_late_rows_are_counted_and_change_nothing(spark: SparkSession) -> None:
    """Also where HAVING, a ranking and a second table stand in the query; by wall time, too."""
    events(spark, "late", "TIMESTAMP_NTZ")
    spark.sql("CREATE TABLE names (k STRING, name STRING)")
    spark.sql("INSERT INTO names VALUES ('a', 'Ann'), ('b', 'Bob')")
    spark.sql("CREATE TABLE best (start TIMESTAMP_NTZ, name STRING, n BIGINT)")
    job = insert(
        spark,
        "INSERT INTO best WITH ('sink.emit' = 'on-watermark') SELECT window_start, name, n FROM ("
        "SELECT *, row_number() OVER (PARTITION BY window_start, window_end ORDER BY n DESC) AS r "
        "FROM (SELECT window_start, window_end, name, sum(v) AS n FROM "
        "TABLE(CUMULATE(TABLE late, DESCRIPTOR(ts), INTERVAL '2' MINUTES, INTERVAL '4' MINUTES)) "
        "JOIN names USING (k) GROUP BY window_start, window_end, name HAVING sum(v) > 1)) "
        "WHERE r = 1",
    )

    def put(*rows: tuple[int, str, int]) -> None:
        values = ", ".join(
            f"(TIMESTAMP_NTZ '{datetime.fromtimestamp(BEGIN + at, UTC):%Y-%m-%d %H:%M:%S}', "
            f"'{key}', {value})"
            for at, key, value in rows
        )
        spark.sql(f"INSERT INTO late VALUES {values}")
        flush(spark)

    def best() -> list[tuple[int, str, int]]:
        found = spark.sql("SELECT start, name, n FROM best ORDER BY start, n").collect()
        return [(seconds(row.start) - BEGIN, row.name, row.n) for row in found]

    put((10, "a", 5), (20, "b", 7), (130, "a", 9))
    assert best() == []
    put((120 + DELAY, "b", 1))
    assert best() == [(0, "Bob", 7)]
    put((30, "a", 100))
    assert best() == [(0, "Bob", 7)]
    put((240 + DELAY, "c", 1))
    assert best() == [(0, "Bob", 7), (0, "Ann", 114)]
    spark.sql("DELETE FROM late WHERE v = 100")
    spark.sql("UPDATE names SET name = 'Anne' WHERE k = 'a'")
    put((600 + DELAY, "c", 1))
    assert best() == [(0, "Bob", 7), (0, "Ann", 114)]
    assert details(spark, job)["rows_late"] == "0", "rows of a join are not counted"


def test_a_job_that_lost_its_progress_goes_on(spark: SparkSession) -> None:
    """With nothing new in between, and rows that are not tracked: no window comes twice."""
    events(spark, "quiet")
    spark.sql("CREATE TABLE totals (start BIGINT, total BIGINT)")
    statement = (
        "INSERT INTO totals WITH ('sink.emit' = 'on-watermark') "
        "SELECT unix_seconds(window_start), sum(v) "
        f"FROM {HOP.format(t='quiet')} GROUP BY window_start, window_end"
    )
    model = Model(300, 600)

    def put(ts: int, value: int) -> None:
        add(spark, "quiet", [(ts, "", value)])
        model.barrier([(ts, "", value)])
        flush(spark)

    job = insert(spark, statement)
    put(BEGIN, 1)
    put(BEGIN + 700 + DELAY, 2)
    spark.sql(f"STOP JOB '{job}'")
    (location,) = spark.sql("DESCRIBE EXTENDED totals").where("col_name = 'Location'").collect()
    (progress,) = Path(location.data_type.removeprefix("file:")).rglob("PROGRESS-*")
    progress.unlink()
    job = insert(spark, statement)
    flush(spark)
    assert progress.exists()
    spark.sql(
        "INSERT INTO quiet WITH ('change-tracking' = 'false') "
        f"VALUES (timestamp_seconds({BEGIN + 900}), '', 4)"
    )
    model.rows.append((BEGIN + 900, "", 4))
    put(BEGIN + 2_000 + DELAY, 8)
    found = spark.sql("SELECT * FROM totals").collect()
    assert Counter(found) == Counter((start, total) for (start, _), total in model.out.items())
    assert not details(spark, job)["diverged"]


def test_a_union_of_windows_and_an_outer_join_below(spark: SparkSession) -> None:
    """Each side is cut by its own windows; the other side of a join is as it is at the barrier."""
    events(spark, "u")
    spark.sql("CREATE TABLE weights (k STRING, w INT)")
    spark.sql("INSERT INTO weights VALUES ('a', 10)")
    spark.sql("CREATE TABLE both_sides (side STRING, start BIGINT, n BIGINT)")
    insert(
        spark,
        "INSERT INTO both_sides WITH ('sink.emit' = 'on-watermark') "
        "SELECT 'short', unix_seconds(window_start), sum(v) "
        "FROM TUMBLE(TABLE u, DESCRIPTOR(ts), INTERVAL '1' MINUTE) "
        "GROUP BY window_start, window_end "
        "UNION ALL SELECT 'long', unix_seconds(window_start), sum(v * coalesce(w, 1)) "
        "FROM TUMBLE(TABLE (SELECT * FROM u LEFT JOIN weights USING (k)), DESCRIPTOR(ts), "
        "INTERVAL '2' MINUTES) GROUP BY window_start, window_end",
    )
    found = []
    for at, key in ((0, "a"), (70, "b"), (130, "a"), (190, "a"), (250, "b"), (400, "b")):
        add(spark, "u", [(BEGIN + at, key, at + 1)])
        flush(spark)
        rows = spark.sql("SELECT side, start, n FROM both_sides ORDER BY side, start").collect()
        found.append([(row.side, row.start - BEGIN, row.n) for row in rows])
    short = [("short", 0, 1), ("short", 60, 71), ("short", 120, 131), ("short", 180, 191)]
    long = [("long", 0, 10 + 71), ("long", 120, 1310 + 1910)]
    assert found == [
        [],
        [],
        short[:1],
        long[:1] + short[:2],
        long[:1] + short[:3],
        [*long, *short, ("short", 240, 251)],
    ]


def test_what_is_refused(spark: SparkSession) -> None:
    events(spark, "r")
    spark.sql("CREATE TABLE other (at TIMESTAMP, ts TIMESTAMP, WATERMARK FOR at AS at)")
    spark.sql("CREATE TABLE target (n BIGINT)")
    spark.sql("CREATE TABLE numbers (n BIGINT)")
    into = "INSERT INTO target WITH ('sink.emit' = 'on-watermark') SELECT"
    tumble = "TUMBLE(TABLE {}, DESCRIPTOR({}), INTERVAL '1' MINUTE)"
    windows = f"FROM {tumble.format('r', 'ts')} GROUP BY window_end"
    twice = f"sum(n) FROM (SELECT k, count(*) AS n {windows}, k) GROUP BY k"
    joined = f"n FROM (SELECT count(*) AS n {windows}) JOIN numbers USING (n)"
    sessions = "SESSION(TABLE r, DESCRIPTOR(ts), INTERVAL '1' MINUTE) GROUP BY window_end"
    elsewhere = tumble.format("other", "ts")
    for query, reason in (
        ("v FROM r", "there are rows that no GROUP BY has put into windows"),
        ("count(*) FROM r GROUP BY k", "neither window_end nor window()"),
        (f"count(*) FROM {tumble.format('r', 'ts')} GROUP BY window_start", "neither window_end"),
        (f"count(*) {windows}, k WITH ROLLUP", "grouping sets lack the window's end"),
        (twice, "neither window_end"),
        (joined, "its Join does not leave the windows apart"),
        (f"count(*) {windows} UNION ALL SELECT v FROM r", "that no GROUP BY has put into windows"),
        (f"count(*) FROM {elsewhere} GROUP BY window_end", "has no watermark of column 'ts'"),
        (f"count(*) FROM {sessions}", "do not follow from a column of a table alone"),
        ("count(*) FROM r GROUP BY session_window(ts, '1 minute')", "neither window_end"),
    ):
        with streaming(spark):
            error = refused(spark, f"{into} {query}")
        assert "[TABLE_STORE_STREAMING_INSERT]" in error, error
        assert reason in error, error
    batch = refused(spark, f"{into} v FROM r")
    assert "it is for an INSERT in streaming mode" in batch
    with streaming(spark):
        wrong = refused(spark, f"{into.replace('on-watermark', 'sometimes')} v FROM r")
        unknown = refused(spark, f"{into.replace('sink.emit', 'sink.emt')} v FROM r")
    assert "'on-change'" in wrong
    assert "[TABLE_STORE_UNKNOWN_OPTION]" in unknown
    job = insert(spark, f"{into} count(*) FROM {tumble.format('r', 'ts')} GROUP BY window_end")
    error = refused(spark, f"REFRESH JOB '{job}' FULL")
    assert "FULL would compute them again" in error


SCRIPT = f"""
CREATE TABLE IF NOT EXISTS windows (start BIGINT, n BIGINT, total BIGINT);
SET 'execution.checkpointing.interval' = '100 ms';
INSERT INTO windows WITH ('sink.emit' = 'on-watermark')
SELECT unix_seconds(window_start), count(*), sum(v)
FROM TUMBLE(TABLE e, DESCRIPTOR(ts), INTERVAL '{DELAY}' SECONDS) GROUP BY window_start, window_end;
"""
CREATE = f"""
CREATE TABLE IF NOT EXISTS e (ts TIMESTAMP, v BIGINT,
  WATERMARK FOR ts AS ts - INTERVAL '{DELAY}' SECOND);
"""


def test_each_window_comes_once_whatever_is_killed(tmp_path: Path) -> None:
    """Rows in order of time, a commit each 10 s of it: barriers may be anywhere between them."""
    folder = tmp_path / "spark-warehouse" / "default.db"
    rows = [(BEGIN + at, at) for at in range(1200)]
    begun = 0

    def put(count: int) -> None:
        nonlocal begun
        table = open_table(str(folder / "e"))
        for first in range(begun, begun + count, 10):
            some = rows[first : first + 10]
            times = pa.array([ts * 1_000_000 for ts, _ in some], pa.timestamp("us", "UTC"))
            table.append(pa.table({"ts": times, "v": [v for _, v in some]}))
        begun += count

    def closed() -> list[tuple[int, int, int]]:
        last = rows[begun - 1][0] - DELAY
        return [
            (start, DELAY, sum(v for ts, v in rows if start <= ts < start + DELAY))
            for start in range(BEGIN, last - DELAY + 1, DELAY)
        ]

    with JobScript(tmp_path, CREATE + SCRIPT, "first") as running:
        while not (folder / "windows" / "job").is_dir():
            assert running.process.poll() is None, running.errors
            time.sleep(0.1)
        put(200)
        seen = running.wait_for_commit("windows")
        put(190)
        os.kill(running.planner(), signal.SIGKILL)
        put(10)
        running.wait_for_commit("windows", after=seen)
        put(300)
        os.kill(running.process.pid, signal.SIGKILL)
        running.process.wait(60)
    put(400)
    with JobScript(tmp_path, SCRIPT, "second") as running:
        put(100)
        table, end = open_table(str(folder / "windows")), time.monotonic() + 120
        while len(found := table.scan().to_arrow().to_pylist()) < len(closed()):
            assert running.process.poll() is None, running.errors
            assert time.monotonic() < end, (found, running.errors)
            time.sleep(0.1)
    assert sorted(tuple(row.values()) for row in found) == closed()
