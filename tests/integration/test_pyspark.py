"""Goal: PySpark programs read and write managed tables by DataFrames.

The same programs run in both configurations of the catalog, and as clients of Spark Connect.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession, is_remote
from pyspark.sql import functions as sf

from table_store import TableDescriptor, jobs
from tests.integration.catalog_conf import OWN_NAME, SESSION_CATALOG
from tests.integration.spark_session import connect_session, spark_session
from tests.integration.streaming_mode import streaming

pytestmark = [
    pytest.mark.spark,
    # pyspark's own sockets and its pandas warning.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(
    scope="module",
    params=[
        pytest.param((spark_session, OWN_NAME), id="own-name"),
        pytest.param((spark_session, SESSION_CATALOG), id="session"),
        pytest.param((connect_session, OWN_NAME), id="connect"),
    ],
)
def spark(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SparkSession]:
    start, settings = request.param
    with start(tmp_path_factory.mktemp("pyspark"), settings) as session:
        yield session


def rows(frame: DataFrame) -> list[tuple[object, ...]]:
    """The rows as sorted tuples."""
    return sorted((tuple(row) for row in frame.collect()), key=repr)


def test_write_to(spark: SparkSession) -> None:
    """The writer of DataFrameWriterV2: create, append, overwrite, replace."""
    frame = spark.createDataFrame([(1, "a", "x"), (2, "b", "y")], "id INT, v STRING, p STRING")
    frame.writeTo("w").partitionedBy(sf.col("p")).create()
    spark.createDataFrame([("c", 3, "x")], "v STRING, id INT, p STRING").writeTo("w").append()
    assert rows(spark.table("w")) == [(1, "a", "x"), (2, "b", "y"), (3, "c", "x")]
    spark.createDataFrame([(9, "z", "x")], frame.schema).writeTo("w").overwritePartitions()
    assert rows(spark.table("w")) == [(2, "b", "y"), (9, "z", "x")]
    spark.createDataFrame([(7, "q", "y")], frame.schema).writeTo("w").overwrite(sf.col("p") == "y")
    assert rows(spark.table("w")) == [(7, "q", "y"), (9, "z", "x")]
    frame.select("id").writeTo("w").createOrReplace()
    assert rows(spark.table("w")) == [(1,), (2,)]
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        frame.writeTo("w").create()


def test_write(spark: SparkSession) -> None:
    """The older writer: insertInto by position, saveAsTable."""
    spark.sql("CREATE TABLE i (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    frame = spark.range(3).select("id", sf.concat(sf.lit("v"), "id").alias("v"))
    frame.write.insertInto("i")
    frame.withColumn("v", sf.lit("new")).limit(1).write.mode("append").insertInto("i")
    assert rows(spark.table("i")) == [(0, "new"), (1, "v1"), (2, "v2")]
    frame.limit(1).write.insertInto("i", overwrite=True)
    assert rows(spark.table("i")) == [(0, "v0")]
    frame.write.saveAsTable("s")
    frame.write.mode("append").saveAsTable("s")
    assert spark.table("s").count() == 6
    frame.write.mode("overwrite").saveAsTable("s")
    assert rows(spark.table("s")) == [(0, "v0"), (1, "v1"), (2, "v2")]
    frame.write.mode("ignore").saveAsTable("s")
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        frame.write.saveAsTable("s")
    for form in ("parquet", "delta"):
        frame.write.format(form).saveAsTable(f"s_{form}")
        frame.limit(1).write.mode("append").saveAsTable(f"s_{form}")
        assert rows(spark.table(f"s_{form}")) == [(0, "v0"), (0, "v0"), (1, "v1"), (2, "v2")]


def test_format(spark: SparkSession, tmp_path: Path) -> None:
    """`format("table_store")` is that of managed tables; `save` and `load` take their names."""
    frame = spark.range(3)
    frame.write.format("table_store").saveAsTable("f_1")
    frame.write.format("table_store").partitionBy("id").save("default.f_2")
    frame.write.format("table_store").mode("append").save("f_2")
    frame.write.format("table_store").mode("overwrite").save("f_1")
    reader = spark.read.format("table_store")
    assert rows(reader.load("f_1")) == [(0,), (1,), (2,)]
    assert reader.load("default.f_2").count() == 6
    for option, value in (("versionAsOf", "1"), ("timestampAsOf", "2999-01-01")):
        older = spark.read.format("table_store").option(option, value)
        assert rows(older.load("f_2")) == rows(spark.read.option(option, value).table("f_2"))
    assert spark.read.format("table_store").option("versionAsOf", 1).load("f_2").count() == 3
    assert spark.sql("SHOW PARTITIONS f_2").count() == 3
    followed = spark.readStream.format("table_store").load("f_2").writeStream
    followed = followed.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True)
    followed.format("table_store").start("f_1").awaitTermination()
    assert spark.table("f_1").count() == 9
    with pytest.raises(PySparkException, match=r"TABLE_STORE_INVALID_IDENTIFIER.*/a/path"):
        reader.load("/a/path").collect()
    with pytest.raises(PySparkException, match="TABLE_OR_VIEW_NOT_FOUND"):
        reader.load("f_3").collect()
    spark.sql("CREATE VIEW f_4 AS SELECT 1")
    with pytest.raises(PySparkException, match="TABLE_STORE_WRONG_RELATION_KIND"):
        reader.load("f_4").collect()


def test_streams_of_files(spark: SparkSession, tmp_path: Path) -> None:
    """A stream makes a table `USING parquet`, writes to it and reads it, as in any catalog."""
    spark.range(3).writeTo("from_here").create()
    for source, sink in (("from_here", "as_files"), ("as_files", "again")):
        writer = spark.readStream.table(source).writeStream.trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(tmp_path / sink)).format("parquet")
        writer.toTable(sink).awaitTermination()
        assert rows(spark.table(sink)) == [(0,), (1,), (2,)]
        assert "USING parquet" in spark.sql(f"SHOW CREATE TABLE {sink}").collect()[0][0]


def test_a_path_is_the_location(spark: SparkSession) -> None:
    """Of a table that a program makes, as LOCATION in SQL is; a write to a table takes none."""
    place = Path(str(spark.conf.get("spark.sql.warehouse.dir")).removeprefix("file:"))
    frame = spark.range(2)
    frame.write.option("path", str(place / "own_1")).saveAsTable("placed_1")
    spark.catalog.createTable("placed_2", path=str(place / "own_2"), schema=frame.schema)
    frame.write.insertInto("placed_2")
    for number in (1, 2):
        assert rows(spark.table(f"placed_{number}")) == [(0,), (1,)]
        assert (place / f"own_{number}").is_dir()
    with pytest.raises(PySparkException, match=r"TABLE_STORE_INVALID_OPTION.*'path'"):
        frame.write.mode("append").option("path", str(place / "own_3")).saveAsTable("placed_1")
    with pytest.raises(PySparkException, match=r"TABLE_STORE_INVALID_OPTION.*EXTERNAL"):
        spark.sql(f"CREATE EXTERNAL TABLE placed_4 (a INT) LOCATION '{place}/own_4'")


def test_any_names_of_columns(spark: SparkSession) -> None:
    """What statements add to rows on their way has names that no column can have."""
    spark.sql(
        "CREATE TABLE an (__kind INT, __order INT, __bucket INT, __computed_0 AS __kind + 1, "
        "PRIMARY KEY (__kind) NOT ENFORCED) WITH ('bucket' = '2')"
    )
    spark.sql("INSERT INTO an VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3)")
    spark.sql("UPDATE an SET __order = 20, __bucket = __kind WHERE __kind > 1")
    spark.sql("DELETE FROM an WHERE __bucket = 3")
    assert rows(spark.table("an")) == [(1, 1, 1, 2), (2, 20, 2, 3)]
    with pytest.raises(PySparkException, match=r"TABLE_STORE_INVALID_SCHEMA.*reserved"):
        spark.sql("ALTER TABLE an ADD COLUMN __table_store_kind INT")


def test_aggregates_without_functions(spark: SparkSession) -> None:
    """One row, as of any aggregate without groups: count() leaves nothing else of a query."""
    spark.sql("CREATE TABLE h (x INT)")
    for inserted in (0, 3):
        spark.range(inserted).select(sf.col("id").cast("int").alias("x")).writeTo("h").append()
        assert spark.sql("SELECT count(*), sum(x) FROM h").count() == 1
        assert spark.table("h").agg(sf.max("x")).count() == 1
        for query in (
            "SELECT 1 FROM h HAVING 1 < 2",
            "SELECT 1 FROM h GROUP BY GROUPING SETS (())",
            "SELECT count(*) FROM (SELECT 1 FROM h HAVING true)",
        ):
            assert rows(spark.sql(query)) == [(1,)], query


def test_default_format(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No format means a managed table in our catalog, and Parquet for files and elsewhere."""
    frame = spark.range(4).withColumn("p", sf.col("id") % 2)
    frame.write.partitionBy("p").saveAsTable("df")
    spark.catalog.createTable("df_empty", schema=frame.schema)
    for managed, count in (("df", 4), ("df_empty", 0)):
        spark.sql(f"ALTER TABLE {managed} COMPACT")
        assert spark.table(managed).count() == count
    assert "PARTITIONED BY (p)" in spark.sql("SHOW CREATE TABLE df").collect()[0][0]
    files = str(tmp_path / "files")
    frame.write.save(files)
    assert rows(spark.read.load(files)) == rows(spark.read.parquet(files))
    spark.read.load(files).where("id = 2").explain()
    assert "FileScan parquet" in capsys.readouterr().out
    stream = spark.readStream.schema(frame.schema).load(files).writeStream
    copied = stream.option("checkpointLocation", str(tmp_path / "checkpoint"))
    copied.trigger(availableNow=True).start(str(tmp_path / "copy")).awaitTermination()
    assert spark.read.parquet(str(tmp_path / "copy")).count() == 4
    if spark.catalog.currentCatalog() != "spark_catalog":
        for name, statement in (
            ("created", "CREATE TABLE {} (a INT)"),
            ("selected", "CREATE TABLE {} AS SELECT 1 AS a"),
        ):
            elsewhere = f"spark_catalog.default.df_{name}"
            spark.sql(statement.format(elsewhere))
            assert "USING parquet" in spark.sql(f"SHOW CREATE TABLE {elsewhere}").collect()[0][0]
        spark.sql("USE spark_catalog")
        frame.write.saveAsTable("df_saved")
        frame.write.mode("append").saveAsTable("df_saved")
        assert "USING parquet" in spark.sql("SHOW CREATE TABLE df_saved").collect()[0][0]
        spark.sql("USE table_store.default")


def test_merge_into(spark: SparkSession) -> None:
    """MERGE by DataFrame."""
    spark.sql("CREATE TABLE m (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO m VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    source = spark.createDataFrame([(2, "B"), (3, "drop"), (4, "D")], "id BIGINT, v STRING")
    (
        source.alias("s")
        .mergeInto("m", sf.expr("m.id = s.id"))
        .whenMatched(sf.expr("s.v = 'drop'"))
        .delete()
        .whenMatched()
        .updateAll()
        .whenNotMatched()
        .insertAll()
        .whenNotMatchedBySource()
        .update({"v": sf.lit("left")})
        .merge()
    )
    assert rows(spark.table("m")) == [(1, "left"), (2, "B"), (4, "D")]


def test_parameters_and_time_travel(spark: SparkSession) -> None:
    """Named and positional parameters, also in statements of ours; versions as read options."""
    spark.sql("CREATE TABLE tt (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO tt VALUES (:id, :v)", args={"id": 1, "v": "it's; -- ?"})
    spark.sql("INSERT INTO tt VALUES (?, ?)", args=[2, "b"])
    spark.sql("UPDATE tt SET v = :v WHERE id = :id", args={"id": 2, "v": "B"})
    found = spark.sql("SELECT v FROM tt WHERE id = :x", args={"x": 1})
    assert found.collect()[0].v == "it's; -- ?"
    past = spark.read.option("versionAsOf", "1").table("tt")
    assert rows(past) == [(1, "it's; -- ?")]
    assert rows(spark.sql("SELECT v FROM tt VERSION AS OF 2 WHERE id = 2")) == [("b",)]
    now = spark.sql("SELECT current_timestamp()").collect()[0][0]
    at = spark.read.option("timestampAsOf", str(now)).table("tt")
    assert rows(at) == [(1, "it's; -- ?"), (2, "B")]
    with pytest.raises(AnalysisException, match="TABLE_STORE_SNAPSHOT_NOT_FOUND"):
        spark.read.option("versionAsOf", "99").table("tt").collect()


def test_catalog_api(spark: SparkSession) -> None:
    """What `spark.catalog` tells; temporary views, functions and caching."""
    spark.sql("CREATE TABLE ca (id INT) COMMENT 'c'")
    assert spark.catalog.tableExists("ca")
    spark.sql("CREATE VIEW ca_view AS SELECT id FROM ca")
    spark.range(2).createOrReplaceTempView("tv")
    catalog = spark.catalog.currentCatalog()
    for database in (None, "default", f"{catalog}.default"):
        listed = {table.name: table for table in spark.catalog.listTables(database)}
        kinds = [listed[name].tableType for name in ("ca", "ca_view", "tv")]
        assert kinds == ["MANAGED", "VIEW", "TEMPORARY"]
    assert listed["ca"].catalog == catalog
    spark.sql("USE default")
    assert (spark.catalog.getTable("ca").catalog, spark.catalog.getTable("ca").tableType) == (
        catalog,
        "MANAGED",
    )
    assert [table.name for table in spark.catalog.listTables(pattern="ca_*")] == ["ca_view"]
    for columns in (
        spark.catalog.listColumns("ca"),
        spark.catalog.listColumns("default.ca"),
        spark.catalog.listColumns("ca_view"),
    ):
        assert [column.name for column in columns] == ["id"]
    spark.udf.register("plus_one", lambda x: x + 1, "int")
    spark.sql("INSERT INTO ca SELECT plus_one(CAST(id AS INT)) FROM tv")
    assert rows(spark.sql("SELECT upper('x'), id FROM ca")) == [("X", 1), ("X", 2)]
    spark.table("ca").cache().count()
    spark.sql("INSERT INTO ca VALUES (9)")
    assert spark.table("ca").count() == 3
    spark.sql("CALL sys.rollback('ca', 1)")
    assert spark.table("ca").count() == 2
    spark.catalog.uncacheTable("ca")
    spark.sql("DROP VIEW ca_view")
    spark.sql("DROP TABLE ca")
    assert not spark.catalog.tableExists("ca")


def test_descriptor(spark: SparkSession) -> None:
    """A table that Python describes is the one SQL would have made."""
    descriptor = (
        TableDescriptor.for_managed()
        .column("id", "BIGINT")
        .column("ts", "TIMESTAMP", comment="when")
        .computed_column("day", "STRING", "date_format(ts, 'yyyy-MM-dd')")
        .primary_key("id", "day")
        .partitioned_by("day")
        .watermark("ts", "ts - INTERVAL 5 SECONDS")
        .option("bucket", "2")
        .comment("described")
    )
    descriptor.create(spark, "described")
    spark.sql("INSERT INTO described VALUES (1, TIMESTAMP '2024-01-02 03:04:05')")
    assert rows(spark.sql("SELECT id, day FROM described")) == [(1, "2024-01-02")]
    properties = dict(tuple(row) for row in spark.sql("SHOW TBLPROPERTIES described").collect())
    assert properties["bucket"] == "2"


def test_statements(spark: SparkSession) -> None:
    """Statements of ours and row-level ones, each by one call and with what it answers."""
    spark.sql(
        "CREATE TABLE st (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')"
    )
    spark.sql("INSERT INTO st VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    spark.sql("UPDATE st SET v = upper(v) WHERE id = ?", args=[1])
    spark.sql("DELETE FROM st WHERE id = 2")
    spark.sql(
        "MERGE INTO st USING (SELECT 3 AS id, 'C' AS v UNION ALL SELECT 4, 'd') AS s "
        "ON st.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [(1, "A"), (3, "C"), (4, "d")]
    assert rows(spark.table("st")) == expected
    (compacted,) = spark.sql("ALTER TABLE st COMPACT").collect()
    assert compacted["files_after"] < compacted["files_before"]
    assert spark.sql("CALL sys.compact(table => 'st')").columns == compacted.__fields__
    assert rows(spark.table("st")) == expected
    assert spark.table("`st$snapshots`").count() >= 5
    spark.sql("SET 'table-storage.bucket' = '3'")
    spark.sql("CREATE TABLE st3 (id INT)")
    spark.sql("RESET 'table-storage.bucket'")
    assert "'bucket' = '3'" in spark.sql("SHOW CREATE TABLE st3").collect()[0][0]
    spark.sql("CREATE TEMPORARY TABLE st_temporary AS SELECT 1 AS one")
    assert rows(spark.table("st_temporary")) == [(1,)]


def test_temporary_tables_end_with_their_session(spark: SparkSession) -> None:
    """A client's temporary tables go when it leaves; the server and other clients go on."""
    if not is_remote():
        pytest.skip("a classic session ends with its process")
    warehouse = Path((spark.conf.get("spark.sql.warehouse.dir") or "").removeprefix("file:"))
    folders = warehouse / "_temporary"
    before = len(list(folders.iterdir())) if folders.exists() else 0
    endpoint = spark._client._builder.endpoint  # type: ignore[attr-defined]
    other = SparkSession.builder.remote(f"sc://{endpoint}").create()
    other.sql("CREATE TEMPORARY TABLE goes AS SELECT 1 AS one").collect()
    assert rows(other.table("goes")) == [(1,)]
    assert not spark.catalog.tableExists("goes")
    assert len(list(folders.iterdir())) == before + 1
    other.stop()
    until = time.monotonic() + 30
    while len(list(folders.iterdir())) > before and time.monotonic() < until:
        time.sleep(0.1)
    assert len(list(folders.iterdir())) == before


def test_jobs(spark: SparkSession) -> None:
    """A client of Connect asks for those of its server."""
    spark.sql("CREATE TABLE of_jobs (k INT, v INT)")
    spark.sql("CREATE TABLE job_sums (k INT NOT NULL, s BIGINT, PRIMARY KEY (k) NOT ENFORCED)")
    spark.sql("INSERT INTO of_jobs VALUES (1, 10), (1, 5), (2, 7)")
    with streaming(spark, "1 h"):
        statement = "INSERT INTO job_sums SELECT k, sum(v) FROM of_jobs GROUP BY k"
        job = spark.sql(statement).collect()[0].job
    (listed,) = [one for one in jobs.list_jobs(spark) if one.job == job]
    assert listed.is_running
    assert listed.sink.endswith("default.job_sums")
    assert listed.sink in jobs.flush(spark, "job_sums")
    assert rows(spark.table("job_sums")) == [(1, 15), (2, 7)]
    spark.sql("INSERT INTO of_jobs VALUES (2, 1)")
    ended = jobs.stop_job(spark, job, drain=True)
    assert (ended.state, ended.rule, ended.error) == ("FINISHED", "incremental", None)
    assert [one.state for one in jobs.await_jobs(spark, job, timeout_s=0)] == ["FINISHED"]
    assert rows(spark.table("job_sums")) == [(1, 15), (2, 8)]
    with pytest.raises(PySparkException, match="no job"):
        jobs.stop_job(spark, "nobody")


def test_errors(spark: SparkSession) -> None:
    """A program gets the condition and the SQLSTATE, of our errors and of Spark's."""
    spark.sql("CREATE TABLE er (id INT NOT NULL)")
    for statement, condition, state in (
        ("CREATE TABLE x (a INT) WITH ('bukket' = '1')", "TABLE_STORE_UNKNOWN_OPTION", "42616"),
        ("ALTER TABLE nowhere COMPACT", "TABLE_STORE_NOT_FOUND", "42P01"),
        ("SELECT * FROM er VERSION AS OF 77", "TABLE_STORE_SNAPSHOT_NOT_FOUND", "22023"),
        ("SELECT * FROM nowhere", "TABLE_OR_VIEW_NOT_FOUND", "42P01"),
        ("INSERT INTO er VALUES (CAST(NULL AS INT))", "NOT_NULL_ASSERT_VIOLATION", "42000"),
        ("CREATE TABLE x (a INT", "PARSE_SYNTAX_ERROR", "42601"),
        ("SELECT count(*) FROM er WITH ('k' = '1')", "TABLE_STORE_UNKNOWN_OPTION", "42616"),
        ("SELECT * FROM `er$snapshots` WITH ('k' = '1')", "TABLE_STORE_UNKNOWN_OPTION", "42616"),
    ):
        with pytest.raises(PySparkException) as caught:
            spark.sql(statement).collect()
        assert (caught.value.getCondition(), caught.value.getSqlState()) == (condition, state)
        assert f"[{condition}" in str(caught.value)
        assert "Traceback" not in str(caught.value)


def test_plain_statements_never_ask_the_planner(spark: SparkSession) -> None:
    """Parsing a statement of Spark's costs a pattern match: the planner is not asked."""
    if is_remote():
        pytest.skip("a client of Connect cannot look into the server")
    assert spark._jvm is not None
    planner = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess
    parser = spark._jsparkSession.sessionState().sqlParser()
    parser.parsePlan("CREATE TABLE x (a INT)")
    asked = planner.requests().getOrDefault("parse", 0)
    assert asked >= 1
    for sql in (
        "SELECT * FROM t WHERE a = 1",
        "WITH c AS (SELECT 1 AS x) SELECT x FROM c JOIN t ON c.x = t.a",
        "SHOW TABLES",
        "UPDATE t SET a = 1",
        "INSERT INTO t VALUES (1)",
        "EXPLAIN SELECT 1",
    ):
        parser.parsePlan(sql)
    assert planner.requests().getOrDefault("parse", 0) == asked


def test_no_other_session_becomes_the_default_one(spark: SparkSession) -> None:
    """Not even the first that a new planner hears of: its settings are nobody else's."""
    if is_remote():
        pytest.skip("a client of Connect cannot look into the server")
    spark.sql("SET 'table-storage.bucket'").collect()
    assert spark._jvm is not None
    children = spark._jvm.java.lang.ProcessHandle.current().children().toArray()
    (planner,) = [c for c in children if "table_store.planner" in c.info().commandLine().orElse("")]
    planner.destroyForcibly()
    planner.onExit().get()
    other = spark.newSession()
    other.sql("SET 'table-storage.bucket' = '7'").collect()
    sessions = SparkSession._get_j_spark_session_module(spark._jvm)
    assert sessions.getDefaultSession().get().sessionUUID() == spark._jsparkSession.sessionUUID()
    assert spark.sql("SET 'table-storage.bucket'").collect()[0].value == "<undefined>"


def test_changes(spark: SparkSession) -> None:
    """The reader of changes takes Spark's own options; its rows can be written elsewhere."""
    spark.sql("CREATE TABLE ch (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("INSERT INTO ch VALUES (1, 'a'), (2, 'b')")
    spark.sql("INSERT INTO ch VALUES (1, 'A')")
    reader = spark.read.option("startingVersion", 1).option("startingBoundInclusive", "false")
    changes = reader.option("computeUpdates", "true").changes("ch")
    assert rows(changes.drop("_commit_version", "_commit_timestamp")) == [
        (1, "A", "update_postimage"),
        (1, "a", "update_preimage"),
    ]
    assert rows(spark.read.option("deduplicationMode", "netChanges").changes("ch").select("v")) == [
        ("A",),
        ("b",),
    ]
    changes.withColumnsRenamed({c: c[1:] for c in changes.columns[2:]}).writeTo(
        "ch_archive"
    ).create()
    assert spark.table("ch_archive").count() == 2
    with pytest.raises(PySparkException, match=r"'startingVersion'.*\.changes\("):
        spark.read.option("startingVersion", 3).table("ch").collect()
