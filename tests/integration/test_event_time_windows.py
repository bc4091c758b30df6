"""Goal: TUMBLE, HOP, CUMULATE and SESSION give each row its windows, wherever they stand.

Oracles: whole numbers in Python, and Spark's own window() and session_window().
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import refused, spark_session
from tests.integration.streaming_mode import flush, stop_jobs, streaming

pytestmark = pytest.mark.spark

Window = tuple[int, int]
Event = tuple[int, str, int | None, int]
MINUTE = 60
DAY = 24 * 60 * MINUTE
BEGIN = 1_774_742_400
"""Seconds since 1970: of the night in which clocks go forward in Europe, as are most rows."""


@pytest.fixture(scope="module")
def times() -> list[Event]:
    """Rows (id, k, ts in seconds, price): some at the same time, on a bound, or without a time."""
    choice = random.Random(5)
    rows: list[Event] = [
        (
            i,
            choice.choice("ab"),
            BEGIN + choice.randrange(6 * 60) * 60 + choice.choice((0, 0, 30)),
            i,
        )
        for i in range(120)
    ]
    return [*rows, (120, "a", None, 7), (121, "b", BEGIN - DAY, 8), (122, "a", -90, 9)]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory, times: list[Event]) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("windows"), OWN_NAME) as session:
        for name, kind in (("events", "TIMESTAMP"), ("local_events", "TIMESTAMP_NTZ")):
            session.sql(
                f"CREATE TABLE {name} (id INT, k STRING, ts {kind}, price INT, PRIMARY KEY (id))"
            )
            session.sql("SET TIME ZONE 'UTC'")
            values = ", ".join(
                f"({i}, '{k}', timestamp_seconds({'NULL' if ts is None else ts}), {price})"
                for i, k, ts, price in times
            )
            session.sql(f"INSERT INTO {name} VALUES {values}")
        yield session


def tumbling(ts: int, size: int, offset: int = 0) -> list[Window]:
    start = (ts - offset) // size * size + offset
    return [(start, start + size)]


def hopping(ts: int, slide: int, size: int) -> list[Window]:
    first = ts // slide * slide
    return [(s, s + size) for s in range(first, first - size, -slide) if s <= ts < s + size]


def cumulating(ts: int, step: int, size: int) -> list[Window]:
    start = ts // size * size
    return [(start, end) for end in range(start + step, start + size + 1, step) if ts < end]


PER_ROW: dict[str, Callable[[int], list[Window]]] = {
    "TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '10' MINUTES)": lambda ts: tumbling(ts, 600),
    "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '8' HOURS))": (
        lambda ts: tumbling(ts, DAY, 8 * 3600)
    ),
    "TABLE (tumble(OFFSET => -INTERVAL '1' MINUTE, DATA => TABLE {t}, "
    "SIZE => INTERVAL '7' MINUTE, TIMECOL => DESCRIPTOR(ts)))": lambda ts: tumbling(ts, 420, -60),
    "HOP(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)": (
        lambda ts: hopping(ts, 300, 600)
    ),
    "HOP(DATA => TABLE {t}, TIMECOL => DESCRIPTOR(ts), SLIDE => INTERVAL '4' MINUTES, "
    "SIZE => INTERVAL '10' MINUTES)": lambda ts: hopping(ts, 240, 600),
    "TABLE(CUMULATE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '1' HOUR, INTERVAL '1' DAY))": (
        lambda ts: cumulating(ts, 3600, DAY)
    ),
    "CUMULATE(TABLE (SELECT * FROM {t}), DESCRIPTOR(ts), STEP => INTERVAL '2' MINUTES, "
    "SIZE => INTERVAL '6' MINUTES)": lambda ts: cumulating(ts, 120, 360),
}
SESSION = "SESSION(TABLE {t} PARTITION BY k, DESCRIPTOR(ts), INTERVAL '3' MINUTES)"


@pytest.mark.parametrize("table", ["events", "local_events"])
@pytest.mark.parametrize("function", PER_ROW)
def test_each_row_has_its_windows(
    spark: SparkSession, times: list[Event], function: str, table: str
) -> None:
    windows = PER_ROW[function]
    wanted = [
        (i, k, at(ts), price, at(start), at(end), at(end) - timedelta(milliseconds=1))
        for i, k, ts, price in times
        if ts is not None
        for start, end in windows(ts)
    ]
    found = rows(spark, f"SELECT * FROM {function.format(t=table)}")
    assert found == sorted(wanted)


def at(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def rows(spark: SparkSession, query: str) -> list[tuple[object, ...]]:
    """The rows, sorted, their times in UTC without a zone, whatever Python's own zone is."""
    frame = spark.sql(query)
    zoneless = [
        f"CAST(`{field.name}` AS TIMESTAMP_NTZ) AS `{field.name}`"
        if field.dataType.typeName().startswith("timestamp")
        else f"`{field.name}`"
        for field in frame.schema
    ]
    return sorted(tuple(row) for row in frame.selectExpr(*zoneless).collect())


@pytest.mark.parametrize("table", ["events", "local_events"])
def test_sessions_of_each_key(spark: SparkSession, times: list[Event], table: str) -> None:
    wanted = []
    for key in ("a", "b", None):
        of_key = sorted(
            (ts, i, k, price) for i, k, ts, price in times if ts is not None and key in (k, None)
        )
        sessions: list[list[tuple[int, int, str, int]]] = []
        for row in of_key:
            if not sessions or row[0] > sessions[-1][-1][0] + 180:
                sessions.append([])
            sessions[-1].append(row)
        result = sorted(
            (i, k, at(ts), at(rows[0][0]), at(rows[-1][0] + 180))
            for rows in sessions
            for ts, i, k, _ in rows
        )
        if key is not None:
            wanted += result
    fields = "id, k, ts, window_start, window_end"
    assert rows(spark, f"SELECT {fields} FROM {SESSION.format(t=table)}") == sorted(wanted)
    whole = f"TABLE(SESSION(TABLE {table}, DESCRIPTOR(ts), GAP => INTERVAL '3' MINUTES))"
    assert rows(spark, f"SELECT {fields} FROM {whole}") == result


def test_sums_are_those_of_sparks_own_windows(spark: SparkSession) -> None:
    by_window = "k, window_start, window_end, sum(price), count(*)"
    grouped = "GROUP BY k, window_start, window_end"
    of_spark = "k, w.start, w.end, sum(price), count(*)"
    for function, window in (
        ("TUMBLE({t}, INTERVAL '10' MINUTES)", "window(ts, '10 minutes')"),
        (
            "HOP({t}, INTERVAL '5' MINUTES, INTERVAL '15' MINUTES)",
            "window(ts, '15 minutes', '5 minutes')",
        ),
        ("SESSION({t}, INTERVAL '3' MINUTES)", "session_window(ts, '3 minutes')"),
    ):
        keys = " PARTITION BY k" if "SESSION" in function else ""
        call = function.format(t=f"TABLE events{keys}, DESCRIPTOR(ts)")
        found = rows(spark, f"SELECT {by_window} FROM {call} {grouped}")
        wanted = rows(
            spark,
            f"SELECT {of_spark} FROM (SELECT k, price, {window} AS w FROM events) GROUP BY k, w"
            if "SESSION" not in function
            else f"SELECT k, w.start, w.end, p, n FROM (SELECT k, {window} AS w, sum(price) AS p, "
            f"count(*) AS n FROM events GROUP BY k, {window})",
        )
        assert found == wanted, function
        assert len(found) > 10


def test_it_stands_wherever_a_table_stands(spark: SparkSession) -> None:
    call = "TABLE(TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    wanted = rows(spark, f"SELECT id, window_start FROM {call}")
    spark.sql(f"CREATE VIEW hours AS SELECT id, window_start FROM {call}")
    assert rows(spark, "SELECT * FROM hours") == wanted
    cte = f"WITH e AS (SELECT * FROM events), w AS (SELECT * FROM {call.replace('events', 'e')})"
    assert rows(spark, f"{cte} SELECT id, window_start FROM w") == wanted
    assert (
        rows(spark, f"SELECT h.id, w.window_start FROM hours h JOIN {call} AS w ON w.id = h.id")
        == wanted
    )
    within = f"SELECT id FROM events WHERE id IN (SELECT id FROM {call} WHERE window_end IS NULL)"
    assert rows(spark, within) == []
    nested = (
        "TUMBLE(TABLE (SELECT id, window_time FROM "
        "TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '10' MINUTES)), "
        "DESCRIPTOR(window_time), INTERVAL '1' HOUR)"
    )
    assert rows(spark, f"SELECT id, window_start FROM {nested}") == wanted


def test_a_zone_changes_no_window(spark: SparkSession, times: list[Event]) -> None:
    """The rows are of the night in which this one's clocks go forward."""
    spark.sql("SET TIME ZONE 'Europe/Berlin'")
    found = rows(
        spark,
        "SELECT id, unix_seconds(window_start), unix_seconds(window_end) "
        "FROM CUMULATE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' DAY, INTERVAL '2' DAYS)",
    )
    spark.sql("SET TIME ZONE 'UTC'")
    wanted = [
        (i, start, end)
        for i, _, ts, _ in times
        if ts is not None
        for start, end in cumulating(ts, DAY, 2 * DAY)
    ]
    assert found == sorted(wanted)


FOLLOWED = {
    "tumbled": "TABLE(TUMBLE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '10' MINUTES))",
    "hopped": "HOP(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '10' MINUTES)",
    "cumulated": "CUMULATE(TABLE {t}, DESCRIPTOR(ts), INTERVAL '5' MINUTES, INTERVAL '1' HOUR)",
    "in_sessions": SESSION,
}
BY_JOBS = ("hopped", "in_sessions")
ROUNDS = (
    (
        "INSERT INTO followed SELECT id + 1000, k, ts + INTERVAL 95 SECONDS, price FROM followed",
        "UPDATE followed SET ts = ts + INTERVAL 4 MINUTES, price = 1 WHERE id % 7 = 3",
    ),
    (
        "DELETE FROM followed WHERE id % 5 = 2",
        "UPDATE followed SET ts = NULL WHERE id % 11 = 4",
    ),
)


def test_views_and_jobs_follow(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE followed (id INT, k STRING, ts TIMESTAMP, price INT, PRIMARY KEY (id))")
    spark.sql("INSERT INTO followed SELECT * FROM events")
    queries = {
        name: "SELECT k, window_start, window_end, sum(price) AS total "
        f"FROM {call.format(t='followed')} GROUP BY k, window_start, window_end"
        for name, call in FOLLOWED.items()
    }
    for name, query in queries.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {name} REFRESH POLICY INCREMENTAL AS {query}")
    for name in BY_JOBS:
        spark.sql(
            f"CREATE TABLE job_{name} (k STRING, window_start TIMESTAMP, window_end TIMESTAMP, "
            "total BIGINT, PRIMARY KEY (k, window_start, window_end))"
        )
    whole = queries["in_sessions"].replace(" PARTITION BY k", "")
    spark.sql(f"CREATE MATERIALIZED VIEW in_one_line AS {whole}")
    with streaming(spark):
        for name in BY_JOBS:
            spark.sql(f"INSERT INTO job_{name} {queries[name]}")
    for statements in ROUNDS:
        for statement in statements:
            spark.sql(statement)
        flush(spark)
        for name, query in queries.items():
            (done,) = spark.sql(f"REFRESH MATERIALIZED VIEW {name}").collect()
            assert done.rule == "incremental", (name, done)
            wanted = rows(spark, query)
            assert len(wanted) > 10
            assert rows(spark, f"TABLE {name}") == wanted, (name, statements)
            if name in BY_JOBS:
                assert rows(spark, f"TABLE job_{name}") == wanted, (name, statements)
    stop_jobs(spark)
    spark.sql("REFRESH MATERIALIZED VIEW in_one_line")
    assert rows(spark, "TABLE in_one_line") == rows(spark, whole)


def test_what_is_no_window_is_refused(spark: SparkSession) -> None:
    ten = "INTERVAL '10' MINUTES"
    for call, text in (
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts), -{ten})", "Give one above zero"),
        ("TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '0' SECOND)", "Give one above zero"),
        ("TUMBLE(TABLE events, DESCRIPTOR(ts), INTERVAL '1' MONTH)", "days to seconds"),
        ("TUMBLE(TABLE events, DESCRIPTOR(ts), 10)", "days to seconds"),
        ("TUMBLE(TABLE events, DESCRIPTOR(ts), price)", "days to seconds"),
        ("TUMBLE(TABLE events, DESCRIPTOR(ts))", "SIZE is missing. It takes DATA, TIMECOL, SIZE"),
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts, id), {ten})", "no descriptor of one column"),
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts + {ten}), {ten})", "no descriptor of one column"),
        (f"TUMBLE(TABLE events, ts, {ten})", "no descriptor of one column"),
        (f"TUMBLE(ts, DESCRIPTOR(ts), {ten})", "DATA is no table"),
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts), {ten}, {ten}, {ten})", "it has 5 arguments"),
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts), {ten}, STEP => {ten})", "it has no argument STEP"),
        (f"TUMBLE(TABLE events, DESCRIPTOR(ts), {ten}, SIZE => {ten})", "SIZE stands there twice"),
        (
            f"TUMBLE(TABLE events PARTITION BY k, DESCRIPTOR(ts), {ten})",
            "only the table of SESSION",
        ),
        (f"HOP(TABLE events, DESCRIPTOR(ts), {ten}, INTERVAL '9' MINUTES)", "longer than SIZE"),
        (f"CUMULATE(TABLE events, DESCRIPTOR(ts), {ten}, INTERVAL '25' MINUTES)", "no multiple"),
        (f"SESSION(TABLE events, DESCRIPTOR(ts), -{ten})", "Give one above zero"),
    ):
        error = refused(spark, f"SELECT * FROM {call}")
        assert "[TABLE_STORE_WINDOW_FUNCTION]" in error, error
        assert text in error, error
    for function in ("TUMBLE", "SESSION"):
        error = refused(spark, f"SELECT * FROM {function}(TABLE events, DESCRIPTOR(tz), {ten})")
        assert "[UNRESOLVED_COLUMN" in error
        assert "`tz`" in error
        error = refused(spark, f"SELECT * FROM {function}(TABLE events, DESCRIPTOR(price), {ten})")
        assert "DATATYPE_MISMATCH" in error, error
    assert "TABLE_OR_VIEW_NOT_FOUND" in refused(
        spark, f"SELECT * FROM TUMBLE(TABLE absent, DESCRIPTOR(ts), {ten})"
    )
