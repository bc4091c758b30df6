"""Goal: what jobs stand on may be altered, dropped and written by others, and they tell or go on.

Oracle: Spark's own run of the query.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session, unlogged_errors
from tests.integration.streaming_mode import flush, streaming

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("sources"), OWN_NAME) as session:
        yield session


@pytest.fixture(autouse=True)
def namespace(spark: SparkSession) -> Iterator[None]:
    spark.sql("CREATE NAMESPACE made")
    spark.sql("USE made")
    yield
    for job in spark.sql("SHOW JOBS").collect():
        if job.state == "RUNNING":
            spark.sql(f"STOP JOB '{job.job}'")
    spark.sql("USE default")
    spark.sql("DROP NAMESPACE made CASCADE")


def rows(spark: SparkSession, query: str) -> Counter[str]:
    return Counter(str(tuple(row)) for row in spark.sql(query).collect())


def refreshed(spark: SparkSession, view: str, options: str = "") -> tuple[str, str]:
    """(rule, reason)."""
    row = spark.sql(f"REFRESH MATERIALIZED VIEW {view} {options}").collect()[-1]
    return row.rule, row.reason


def refused(spark: SparkSession, statement: str) -> PySparkException:
    with unlogged_errors(), pytest.raises(PySparkException) as raised:
        spark.sql(statement).collect()
    return raised.value


def insert(spark: SparkSession, statement: str, interval: str = "100 ms") -> str:
    """The id of the job that an INSERT starts."""
    with streaming(spark, interval):
        return str(spark.sql(statement).collect()[0].job)


def drained(spark: SparkSession, job: str) -> Row:
    found: Row = spark.sql(f"STOP JOB '{job}' WITH DRAIN").collect()[0]
    return found


def details(spark: SparkSession, job: str) -> dict[str, str]:
    return {row.info_name: row.info_value for row in spark.sql(f"DESCRIBE JOB '{job}'").collect()}


def test_changes_from_before_an_alteration(spark: SparkSession) -> None:
    """They are read as the columns are now, whatever they were called and wherever they stood."""
    spark.sql("CREATE TABLE s (k INT, v INT, z STRING)")
    spark.sql("INSERT INTO s VALUES (1, 1, 'a'), (2, 2, 'b')")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT z, sum(k) AS n FROM s GROUP BY z")
    spark.sql("INSERT INTO s VALUES (3, 3, 'b')")
    spark.sql("ALTER TABLE s DROP COLUMN v")
    assert refreshed(spark, "m")[0] == "incremental"
    spark.sql("DELETE FROM s WHERE k = 1")
    spark.sql("ALTER TABLE s ADD COLUMN v INT FIRST")
    assert refreshed(spark, "m")[0] == "incremental"
    assert rows(spark, "SELECT * FROM m") == rows(spark, "SELECT z, sum(k) FROM s GROUP BY z")


def test_a_row_that_others_took_out_of_a_bag(spark: SparkSession) -> None:
    """Its deletion is counted and does not wait for a later row that is equal."""
    spark.sql("CREATE TABLE s (k INT, v DOUBLE)")
    spark.sql("INSERT INTO s VALUES (1, 1), (1, 1), (2, NULL)")
    spark.sql("CREATE TABLE bag (k INT, v DOUBLE)")
    statement = "INSERT INTO bag SELECT k, v FROM s"
    assert drained(spark, insert(spark, statement)).rows_changed == 3
    spark.sql("DELETE FROM bag WHERE k = 1")
    spark.sql("INSERT INTO bag VALUES (1, 1), (7, 7)")
    spark.sql("DELETE FROM s")
    job = insert(spark, statement)
    assert drained(spark, job).rows_changed == 2
    assert details(spark, job)["rows_absent"] == "1"
    assert rows(spark, "SELECT * FROM bag") == Counter(["(7, 7.0)"])
    spark.sql("INSERT INTO s VALUES (1, 1)")
    drained(spark, insert(spark, statement))
    assert rows(spark, "SELECT * FROM bag") == Counter(["(7, 7.0)", "(1, 1.0)"])


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (k)"])
def test_a_source_made_anew_under_a_sink_of_the_job_alone(spark: SparkSession, key: str) -> None:
    """Nobody else wrote the sink, so that its own rows tell what is to go."""
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("INSERT INTO s VALUES (1, 1), (2, 2)")
    spark.sql(f"CREATE TABLE sink (k INT NOT NULL, v INT{key})")
    statement = "INSERT INTO sink SELECT k, v FROM s"
    drained(spark, insert(spark, statement))
    spark.sql("CREATE OR REPLACE TABLE s AS SELECT 2 AS k, 3 AS v")
    ended = drained(spark, insert(spark, statement))
    assert (ended.rule, ended.reason) == ("full", "made.s is another table by now")
    assert rows(spark, "SELECT * FROM sink") == Counter(["(2, 3)"])


@pytest.mark.parametrize("way", ["AS SELECT 9 AS k, 9 AS v", "(k INT, v INT)", "overwrite"])
def test_a_source_is_replaced_under_a_running_job(spark: SparkSession, way: str) -> None:
    """The old directory stays as it was, and yet flush, delay and drain see the new table."""
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("CREATE TABLE quiet (v INT)")
    spark.sql("INSERT INTO s VALUES (1, 1), (2, 1), (3, 2)")
    spark.sql("INSERT INTO quiet VALUES (1), (8), (9)")
    spark.sql("CREATE TABLE sink (v INT, n BIGINT)")
    query = "SELECT v, count(*) AS n FROM s JOIN quiet USING (v) GROUP BY v"
    job = insert(spark, f"INSERT INTO sink {query}", "1 h")
    flush(spark)
    assert rows(spark, "SELECT * FROM sink") == Counter(["(1, 2)"])
    if way == "overwrite":
        new = spark.range(9, 10).selectExpr("int(id) AS k", "int(id) AS v")
        new.write.mode("overwrite").saveAsTable("s")
    else:
        spark.sql(f"CREATE OR REPLACE TABLE s {way}")
    spark.sql("INSERT INTO s VALUES (8, 8)")
    flush(spark)
    assert rows(spark, "SELECT * FROM sink") == rows(spark, query)
    assert details(spark, job)["reason"] == "made.s is another table by now"
    (delay,) = spark.sql("SELECT * FROM sys.table_delay WHERE table_name LIKE '%sink'").collect()
    assert delay.delay_ms == 0
    barrier = details(spark, job)["barrier"]
    flush(spark)
    assert details(spark, job)["barrier"] == barrier, "nothing has changed since"
    spark.sql("DELETE FROM s")
    assert drained(spark, job).state == "FINISHED"
    assert rows(spark, "SELECT * FROM sink") == Counter()


def state(spark: SparkSession, view: str) -> str:
    (told,) = [
        row.data_type
        for row in spark.sql(f"DESCRIBE EXTENDED MATERIALIZED VIEW {view}").collect()
        if row.col_name == "state"
    ]
    return str(told)


def follows(spark: SparkSession, view: str, rule: str, query: str) -> None:
    assert refreshed(spark, view)[0] == rule
    assert rows(spark, f"SELECT * FROM {view}") == rows(spark, query)


def test_a_source_is_altered(spark: SparkSession) -> None:
    """Views go on with all that does not take from them what they use."""
    spark.sql("CREATE TABLE s (k INT, v INT, w INT)")
    spark.sql("INSERT INTO s VALUES (1, 10, 0), (2, 20, 0)")
    spark.sql("CREATE MATERIALIZED VIEW stars AS SELECT * FROM s")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k, v + 1 AS n FROM s WHERE v > 0")
    spark.sql("CREATE MATERIALIZED VIEW top AS SELECT sum(n) AS n FROM m")
    spark.sql("ALTER TABLE s ADD COLUMN x STRING FIRST")
    spark.sql("INSERT INTO s VALUES ('x', 3, 30, 0)")
    follows(spark, "stars", "incremental", "SELECT k, v, w FROM s")
    spark.sql("ALTER TABLE s RENAME COLUMN v TO `of v`")
    spark.sql("DELETE FROM s WHERE k = 1")
    follows(spark, "stars", "incremental", "SELECT k, `of v`, w FROM s")
    follows(spark, "m", "incremental", "SELECT k, `of v` + 1 FROM s")
    (text,) = spark.sql("SHOW CREATE MATERIALIZED VIEW m").collect()[0]
    assert text.endswith("SELECT k, `of v` + 1 AS n FROM s WHERE `of v` > 0")
    error = refused(spark, "ALTER TABLE s DROP COLUMN `of v`")
    assert (error.getCondition(), error.getSqlState()) == ("TABLE_STORE_DEPENDENTS", "2BP01")
    assert "materialized view table_store.made.m stands on it" in str(error)
    assert "of v" in str(error)
    assert state(spark, "m") == "active"
    spark.sql("ALTER TABLE s ALTER COLUMN `of v` TYPE BIGINT")
    spark.sql("INSERT INTO s VALUES ('y', 4, 40000000000, 0)")
    follows(spark, "top", "full", "SELECT sum(`of v` + 1) FROM s")
    follows(spark, "m", "none", "SELECT k, `of v` + 1 FROM s")
    assert spark.table("m").schema["n"].dataType.simpleString() == "bigint"
    spark.sql("ALTER TABLE s RENAME TO renamed")
    spark.sql("INSERT INTO renamed VALUES ('z', 5, 50, 0)")
    follows(spark, "m", "incremental", "SELECT k, `of v` + 1 FROM renamed")
    spark.sql("ALTER TABLE renamed DROP COLUMN `of v` SUSPEND")
    assert state(spark, "m").startswith("suspended: ")
    assert state(spark, "stars").startswith("suspended: ")
    assert state(spark, "top") == "active"
    assert "of v" in str(refused(spark, "ALTER MATERIALIZED VIEW m RESUME"))
    spark.sql("ALTER TABLE renamed ADD COLUMN `of v` BIGINT")
    spark.sql("ALTER MATERIALIZED VIEW m RESUME")
    assert state(spark, "m") == "active"
    assert rows(spark, "SELECT * FROM m") == Counter()


@pytest.mark.parametrize("named", ["", "(a, b)"])
def test_a_star_has_its_columns_under_their_new_names(spark: SparkSession, named: str) -> None:
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql(f"CREATE MATERIALIZED VIEW m {named} AS SELECT * FROM s")
    spark.sql("ALTER TABLE s RENAME COLUMN k TO id")
    spark.sql("ALTER TABLE s ADD COLUMN w INT FIRST")
    spark.sql("ALTER TABLE s RENAME COLUMN v TO k")
    spark.sql("ALTER TABLE s ADD COLUMN v INT")
    spark.sql("INSERT INTO s VALUES (0, 1, 10, 100)")
    follows(spark, "m", "incremental", "SELECT id, k FROM s")


def test_a_source_is_dropped_and_made_again(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("INSERT INTO s VALUES (1, 10)")
    spark.sql("CREATE MATERIALIZED VIEW low AS SELECT k FROM s")
    spark.sql("CREATE MATERIALIZED VIEW high AS SELECT k + 1 AS k FROM low")
    for statement in ("DROP TABLE s RESTRICT", "DROP MATERIALIZED VIEW low RESTRICT"):
        error = refused(spark, statement)
        assert error.getCondition() == "TABLE_STORE_DEPENDENTS", error
    spark.sql("DROP TABLE s")
    assert state(spark, "low") == "suspended: table_store.made.s, which it reads, was dropped"
    assert "made.s, which it reads, was dropped" in str(
        refused(spark, "REFRESH MATERIALIZED VIEW low")
    )
    assert refreshed(spark, "high")[0] == "none"
    spark.sql("CREATE TABLE s (v STRING, k INT)")
    spark.sql("INSERT INTO s VALUES ('x', 2)")
    spark.sql("ALTER MATERIALIZED VIEW low RESUME")
    assert rows(spark, "SELECT * FROM low") == Counter(["(2,)"])
    follows(spark, "high", "incremental", "SELECT k + 1 FROM s")
    spark.sql("CREATE MATERIALIZED VIEW beside AS SELECT count(*) AS n FROM s")
    spark.sql("ALTER MATERIALIZED VIEW low RENAME TO lower")
    spark.sql("DROP MATERIALIZED VIEW lower CASCADE")
    listed = spark.sql("SHOW MATERIALIZED VIEWS").collect()
    assert [(row.view, row.state, row.policy) for row in listed] == [("beside", "active", "AUTO")]
    spark.sql("DROP TABLE s CASCADE")
    assert not spark.sql("SHOW MATERIALIZED VIEWS").collect()


def test_a_source_is_rolled_back_and_truncated(spark: SparkSession) -> None:
    """Both are changes, which flow on."""
    spark.sql("CREATE TABLE s (k INT)")
    spark.sql("INSERT INTO s VALUES (1), (2)")
    spark.sql("INSERT INTO s VALUES (3)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k FROM s")
    spark.sql("CALL sys.rollback(table => 's', snapshot => 1)")
    follows(spark, "m", "incremental", "VALUES (1), (2)")
    spark.sql("TRUNCATE TABLE s")
    follows(spark, "m", "incremental", "SELECT * FROM s")


def test_a_job_whose_table_is_gone_holds_up_no_flush(spark: SparkSession) -> None:
    for table in ("s", "sink", "other"):
        spark.sql(f"CREATE TABLE {table} (k INT)")
    insert(spark, "INSERT INTO sink SELECT k FROM s")
    flush(spark)
    spark.sql("DROP TABLE s")
    assert "SUSPENDED" in str(refused(spark, "CALL sys.flush()"))
    spark.sql("DROP TABLE sink")
    spark.sql("CREATE TABLE sink (k INT)")
    insert(spark, "INSERT INTO sink SELECT k + 1 FROM other")
    spark.sql("INSERT INTO other VALUES (1)")
    flush(spark)
    assert rows(spark, "SELECT * FROM sink") == Counter({"(2,)": 1})


def test_views_keep_what_they_go_on_from(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT) WITH ('snapshot.num-retained.min' = '1')")
    spark.sql("INSERT INTO s VALUES (1)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k FROM s")
    for key in range(3):
        spark.sql(f"INSERT INTO s VALUES ({key})")
    spark.sql("CALL sys.expire_snapshots(table => 's', retain_max => 1)")
    follows(spark, "m", "incremental", "SELECT * FROM s")
    consumers = [row[0] for row in spark.sql("SELECT consumer_id FROM `s$consumers`").collect()]
    assert "view:table_store.made.m" in consumers
    for consumer in consumers:  # a barrier may be held, too
        spark.sql(f"CALL sys.reset_consumer(table => 's', consumer_id => '{consumer}')")
    spark.sql("DELETE FROM s WHERE k = 0")
    spark.sql("DELETE FROM s WHERE k = 1")
    spark.sql("CALL sys.expire_snapshots(table => 's', retain_max => 1)")
    rule, reason = refreshed(spark, "m")
    assert (rule, reason.startswith("the changes of made.s since its snapshot 4")) == ("full", True)
    assert rows(spark, "SELECT * FROM m") == rows(spark, "SELECT * FROM s")
    spark.sql("DROP MATERIALIZED VIEW m")
    assert not spark.sql("SELECT * FROM `s$consumers`").collect()


def test_a_running_job_and_its_source(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("INSERT INTO s VALUES (1, 10)")
    spark.sql("CREATE TABLE sink (k INT, v INT)")
    job = insert(spark, "INSERT INTO sink SELECT * FROM s")
    while not details(spark, job)["barrier"]:
        pass
    spark.sql("ALTER TABLE s ADD COLUMN w INT")
    spark.sql("INSERT INTO s VALUES (2, 20, 0)")
    error = refused(spark, "ALTER TABLE s DROP COLUMN v")
    assert "streaming INSERT table_store.made.sink stands on it" in str(error)
    assert "its text has the old name" in str(refused(spark, "ALTER TABLE s RENAME TO t"))
    while details(spark, job)["rows_changed"] != "2":
        pass
    assert rows(spark, "SELECT * FROM sink") == rows(spark, "SELECT k, v FROM s")
    spark.sql("DROP TABLE s")
    told = details(spark, job)
    assert told["state"] == "SUSPENDED"
    assert "s, which it reads, was dropped" in told["error"] or "`s` cannot be" in told["error"]


def test_the_table_that_a_job_writes_is_altered(spark: SparkSession) -> None:
    """What the INSERT needs is kept; it goes on where it can."""
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("CREATE TABLE sink (v INT, n BIGINT, PRIMARY KEY (v))")
    spark.sql("INSERT INTO s VALUES (1, 1), (2, 2)")
    job = insert(spark, "INSERT INTO sink SELECT v, count(*) FROM s GROUP BY v")
    spark.sql("CALL sys.flush('sink')")
    for change in ("DROP COLUMN n", "ADD COLUMN note STRING", "RENAME TO renamed"):
        error = refused(spark, f"ALTER TABLE sink {change}")
        assert error.getCondition() == "TABLE_STORE_DEPENDENTS"
        assert "streaming INSERT table_store.made.sink writes it" in str(error)
    assert rows(spark, "SELECT * FROM sink") == Counter(["(1, 1)", "(2, 1)"])
    spark.sql("ALTER TABLE sink RENAME COLUMN n TO how_many")
    spark.sql("INSERT INTO s VALUES (3, 2)")
    spark.sql("CALL sys.flush('sink')")
    assert rows(spark, "SELECT v, how_many FROM sink") == Counter(["(1, 1)", "(2, 2)"])
    assert details(spark, job)["state"] == "RUNNING"


def test_where_a_job_begins(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("CREATE TABLE keyed (k INT, v INT, PRIMARY KEY (k))")
    spark.sql("INSERT INTO s VALUES (1, 1), (2, 2)")
    spark.sql("CREATE TABLE sink (k INT)")
    late = "INSERT INTO sink SELECT k FROM {} WITH ('log.scan' = 'latest') {}"
    for source, behind, problem in (
        ("s", "GROUP BY k", "leaves out rows of made.s, which Aggregate needs"),
        ("s", "JOIN keyed USING (k)", "leaves out rows of made.s, which Join Inner needs"),
        ("keyed", "", "its changes, by its key, would change and delete those"),
    ):
        with unlogged_errors(), pytest.raises(PySparkException, match=problem):
            insert(spark, late.format(source, behind))
    job = insert(spark, late.format("s", "WHERE v > 0"))
    spark.sql("INSERT INTO s VALUES (3, 3), (4, 0)")
    spark.sql("DELETE FROM s WHERE k = 1")
    drained(spark, job)
    assert rows(spark, "SELECT * FROM sink") == Counter(["(3,)"])
    spark.sql("INSERT INTO s VALUES (5, 5)")
    drained(spark, insert(spark, late.format("s", "WHERE v > 0")))
    assert rows(spark, "SELECT * FROM sink") == Counter(["(3,)", "(5,)"])
    millis = spark.sql("SELECT unix_millis(commit_time) AS t FROM `s$snapshots`").collect()[0].t
    spark.sql("CREATE TABLE other (k INT)")
    options = f"'log.scan' = 'from-timestamp', 'log.scan.timestamp-mills' = '{millis}'"
    drained(spark, insert(spark, f"INSERT INTO other SELECT k FROM s WITH ({options})"))
    assert rows(spark, "SELECT * FROM other") == Counter(["(3,)", "(4,)", "(5,)"])


def test_a_bounded_scan_has_an_end(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE s (k INT)")
    spark.sql("INSERT INTO s VALUES (1), (2)")
    spark.sql("CREATE TABLE sink (k INT)")
    bounded = "FROM s WITH ('scan.bounded.mode' = 'latest')"
    with streaming(spark):
        assert rows(spark, f"SELECT k {bounded}") == Counter(["(1,)", "(2,)"])
        assert "scan.bounded.mode" in str(refused(spark, "SELECT k FROM s"))
        spark.sql(f"INSERT INTO sink SELECT k {bounded}")
    assert rows(spark, "SELECT * FROM sink") == Counter(["(1,)", "(2,)"])
    assert not any(job.state == "RUNNING" for job in spark.sql("SHOW JOBS").collect())


def test_what_is_written_without_change_tracking(spark: SparkSession) -> None:
    """A job goes on without it and says so; a view has it."""
    spark.sql("CREATE TABLE s (k INT)")
    spark.sql("INSERT INTO s VALUES (1)")
    spark.sql("CREATE TABLE sink (k INT)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k FROM s")
    statement = "INSERT INTO sink SELECT k FROM s"
    assert drained(spark, insert(spark, statement)).diverged is None
    spark.sql("INSERT INTO s WITH ('change-tracking' = 'false') VALUES (10)")
    spark.sql("INSERT INTO s VALUES (2)")
    ended = drained(spark, insert(spark, statement))
    assert ended.rule == "incremental"
    assert ended.diverged.startswith("changes of made.s without change tracking are left out")
    assert rows(spark, "SELECT * FROM sink") == Counter(["(1,)", "(2,)"])
    assert refreshed(spark, "m") == ("full", "made.s was changed without change tracking")
    assert rows(spark, "SELECT * FROM m") == Counter(["(1,)", "(2,)", "(10,)"])


def test_a_row_that_cannot_be_computed(spark: SparkSession) -> None:
    """The job keeps the last good barrier, tells the expression, and goes on after a correction."""
    spark.sql("CREATE TABLE s (k INT, v INT)")
    spark.sql("INSERT INTO s VALUES (1, 1)")
    spark.sql("CREATE TABLE sink (k INT, q BIGINT)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k, 100 div v AS q FROM s")
    statement = "INSERT INTO sink SELECT k, 100 div v FROM s"
    drained(spark, insert(spark, statement))
    spark.sql("INSERT INTO s VALUES (2, 2), (3, 0)")
    with unlogged_errors():
        job = insert(spark, statement)
        spark.sql("CALL sys.await_jobs()")
    told = details(spark, job)
    assert (told["state"], told["failures"]) == ("SUSPENDED", "5")
    assert "[DIVIDE_BY_ZERO]" in told["error"]
    assert told["error"].endswith("100 div v")
    assert "DIVIDE_BY_ZERO" in str(refused(spark, "REFRESH MATERIALIZED VIEW m"))
    for table in ("sink", "m"):
        assert rows(spark, f"SELECT * FROM {table}") == Counter(["(1, 100)"])
    spark.sql("UPDATE s SET v = 5 WHERE v = 0")
    drained(spark, insert(spark, statement))
    follows(spark, "m", "incremental", "SELECT k, 100 div v FROM s")
    assert rows(spark, "SELECT * FROM sink") == rows(spark, "SELECT * FROM m")


def test_settings_of_the_definition(spark: SparkSession) -> None:
    """They count at each refresh, whatever the session of the REFRESH has."""
    spark.sql("CREATE TABLE s (t STRING, d DECIMAL(38, 18))")
    spark.sql("INSERT INTO s VALUES ('2026-01-01 00:00:00', 1.5), ('x', 2)")
    mine = {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.legacy.sizeOfNull": "false",
    }
    query = "SELECT CAST(CAST(t AS TIMESTAMP) AS BIGINT) AS b, d * d AS dd, size(NULL) AS n FROM s"
    try:
        for key, value in mine.items():
            spark.conf.set(key, value)
        spark.sql(f"CREATE MATERIALIZED VIEW m AS {query}")
        expected = rows(spark, f"{query} UNION ALL {query}")
    finally:
        for key in mine:
            spark.conf.unset(key)
    spark.sql("INSERT INTO s SELECT * FROM s")
    assert refreshed(spark, "m")[0] == "incremental"
    assert rows(spark, "SELECT * FROM m") == expected


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (k)"])
def test_a_full_refresh_of_a_job_removes_what_others_wrote(spark: SparkSession, key: str) -> None:
    spark.sql("CREATE TABLE s (k INT)")
    spark.sql("INSERT INTO s VALUES (1), (2)")
    spark.sql(f"CREATE TABLE sink (k INT NOT NULL{key})")
    spark.sql("INSERT INTO sink VALUES (7)")
    job = insert(spark, "INSERT INTO sink SELECT k FROM s")
    spark.sql(f"REFRESH JOB '{job}' FULL")
    drained(spark, job)
    assert rows(spark, "SELECT * FROM sink") == Counter(["(1,)", "(2,)"])
    assert "no job" in str(refused(spark, f"REFRESH JOB '{job}' FULL"))


def test_alter_as_beside_a_refresh(spark: SparkSession) -> None:
    """When both have returned, the rows are those of the new query."""
    spark.sql("CREATE TABLE s (k INT)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT k FROM s")

    def done(statement: str) -> bool:
        try:
            spark.sql(statement).collect()
        except PySparkException as error:
            if error.getCondition() != "TABLE_STORE_COMMIT_CONFLICT":
                raise
            return False
        return True

    with unlogged_errors(), ThreadPoolExecutor(1) as pool:
        for at in range(4):
            spark.sql(f"INSERT INTO s VALUES ({at})")
            refresh = pool.submit(done, "REFRESH MATERIALIZED VIEW m")
            query = f"SELECT k + {100 * at} FROM s"
            while not done(f"ALTER MATERIALIZED VIEW m AS {query}"):
                pass
            assert refresh.result(120)
            assert rows(spark, "SELECT * FROM m") == rows(spark, query)


def test_sources_of_one_group_advance_in_event_time(spark: SparkSession) -> None:
    """Payments of eleven o'clock wait until the orders have come to eleven, in jobs and views."""
    group = "WITH ('scan.watermark.alignment.group' = 'sales')"
    for table in ("orders", "payments"):
        spark.sql(
            f"CREATE TABLE {table} (id INT, at TIMESTAMP_NTZ, WATERMARK FOR at AS at) {group}"
        )
    spark.sql("CREATE TABLE sink (id INT, side STRING)")

    def add(table: str, number: int, time: str) -> None:
        spark.sql(f"INSERT INTO {table} VALUES ({number}, TIMESTAMP_NTZ '2026-05-01 {time}')")

    union = "SELECT id, 'o' AS side FROM orders UNION ALL SELECT id, 'p' FROM payments"
    add("orders", 1, "10:00")
    add("payments", 1, "10:00")
    job = insert(spark, f"INSERT INTO sink {union}")
    spark.sql(f"CREATE MATERIALIZED VIEW mv (id, side) AS {union}")
    add("payments", 2, "11:00")
    add("payments", 3, "12:00")
    before = Counter({"(1, 'o')": 1, "(1, 'p')": 1})
    for _ in range(2):
        flush(spark)
        spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
        assert rows(spark, "SELECT * FROM sink") == rows(spark, "SELECT * FROM mv") == before
    add("orders", 2, "11:00")
    flush(spark)
    spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
    seen = before + Counter({"(2, 'o')": 1, "(2, 'p')": 1})
    assert rows(spark, "SELECT * FROM sink") == rows(spark, "SELECT * FROM mv") == seen
    spark.sql("ALTER TABLE payments SET TBLPROPERTIES ('scan.watermark.alignment.max-drift'='1 h')")
    drained(spark, job)
    assert rows(spark, "SELECT * FROM sink") == seen + Counter({"(3, 'p')": 1})
    # A statement that asks for one moment has what both have at the barrier.
    spark.sql("SET 'table-store.consistency' = 'RepeatableRead'")
    try:
        spark.sql("REFRESH MATERIALIZED VIEW mv").collect()
        assert rows(spark, "SELECT * FROM mv") == rows(spark, "SELECT * FROM sink")
        assert rows(spark, union) == rows(spark, "SELECT * FROM sink")
    finally:
        spark.sql("RESET 'table-store.consistency'")


def test_a_group_needs_a_watermark(spark: SparkSession) -> None:
    group = "'scan.watermark.alignment.group' = 'g'"
    error = refused(spark, f"CREATE TABLE t (id INT) WITH ({group})")
    assert "needs a watermark" in str(error)
    spark.sql("CREATE TABLE t (id INT)")
    assert "needs a watermark" in str(refused(spark, f"ALTER TABLE t SET TBLPROPERTIES ({group})"))
    idle = "ALTER TABLE t SET TBLPROPERTIES ('scan.watermark.idle-timeout' = '1 min')"
    assert "it needs 'scan.watermark.alignment.group'" in str(refused(spark, idle))
    spark.sql(f"CREATE TABLE s (at TIMESTAMP_NTZ, WATERMARK FOR at AS at) WITH ({group})")
    begin = "CALL sys.begin_transaction(transaction => 'one', tables => 't, s')"
    assert "it has 'scan.watermark.alignment.group'" in str(refused(spark, begin))
    assert spark.sql("SELECT * FROM sys.transactions").collect() == []
