"""Goal: a stream writes each of its rows into a table once, whatever happens to it."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, expr
from pyspark.sql.functions import sum as total
from pyspark.sql.streaming.query import StreamingQuery

from tests.documents import examples, words
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.killable_stream import SCHEMA, KillableStream
from tests.integration.spark_session import spark_session, started_session

pytestmark = [
    pytest.mark.spark,
    # pyspark's own sockets and its pandas warning.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("stream_writes")


@pytest.fixture(scope="module")
def spark(folder: Path) -> Iterator[SparkSession]:
    with spark_session(folder, OWN_NAME) as session:
        yield session


class Stream:
    """Starts the same query again and again, each time until nothing is new."""

    def __init__(self, folder: Path) -> None:
        self.checkpoint = folder / "checkpoint"

    def run(
        self, frame: DataFrame, table: str, mode: str = "append", **options: str
    ) -> StreamingQuery:
        writer = frame.writeStream.outputMode(mode).options(**options)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(availableNow=True).toTable(table)
        query.awaitTermination()
        return query

    def forget(self, log: str, batch: int) -> None:
        """As if the query had been killed before this entry of its checkpoint was written."""
        for name in (f"{batch}", f".{batch}.crc"):
            (self.checkpoint / log / name).unlink(missing_ok=True)


@pytest.fixture
def stream(tmp_path: Path) -> Stream:
    return Stream(tmp_path)


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def test_append(spark: SparkSession, stream: Stream) -> None:
    """Rows go to the columns of their names, with casts, defaults and computed columns."""
    spark.sql("CREATE TABLE a_in (v STRING, id INT)")
    spark.sql("CREATE TABLE a (id BIGINT, v STRING, w AS id * 2, x INT DEFAULT 7)")
    spark.sql("INSERT INTO a_in VALUES ('a', 1), ('b', 2)")
    query = stream.run(spark.readStream.table("a_in"), "a")
    assert rows(spark, "SELECT * FROM a") == [(1, "a", 2, 7), (2, "b", 4, 7)]
    progress = query.lastProgress
    assert progress is not None
    assert progress["numInputRows"] == progress["sink"]["numOutputRows"] == 2
    assert progress["sink"]["description"] == "TableStoreTable table_store.default.a"
    spark.sql("INSERT INTO a_in VALUES ('b', 2)")
    stream.run(spark.readStream.table("a_in"), "a")
    assert rows(spark, "SELECT id, v FROM a") == [(1, "a"), (2, "b"), (2, "b")]
    kinds = "SELECT operation, commit_user, commit_identifier FROM a.snapshots"
    assert rows(spark, kinds) == [("STREAM", query.id, 0), ("STREAM", query.id, 1)]


def test_update(spark: SparkSession, stream: Stream) -> None:
    """A running aggregate replaces the rows of the keys that changed, in every partition."""
    spark.sql("CREATE TABLE u_in (k INT, v INT)")
    spark.sql(
        "CREATE TABLE u (k INT, n BIGINT, p INT, PRIMARY KEY (k, p) NOT ENFORCED) "
        "PARTITIONED BY (p) WITH ('bucket' = '2')"
    )
    totals = spark.readStream.table("u_in").groupBy("k").agg(total("v").alias("n"))
    with_parts = totals.withColumn("p", col("k") % 2)
    spark.sql("INSERT INTO u_in VALUES (1, 1), (2, 2), (1, 10)")
    stream.run(with_parts, "u", "update")
    assert rows(spark, "SELECT * FROM u") == [(1, 11, 1), (2, 2, 0)]
    spark.sql("INSERT INTO u_in VALUES (2, 20), (3, 3)")
    query = stream.run(with_parts, "u", "update")
    assert rows(spark, "SELECT * FROM u") == [(1, 11, 1), (2, 22, 0), (3, 3, 1)]
    assert query.lastProgress is not None
    assert query.lastProgress["sink"]["numOutputRows"] == 2


def test_complete(spark: SparkSession, stream: Stream) -> None:
    """The whole result takes the place of what the table held, whoever wrote it."""
    spark.sql("CREATE TABLE c_in (k INT)")
    spark.sql("CREATE TABLE c (k INT, n BIGINT)")
    counts = spark.readStream.table("c_in").groupBy("k").agg(count("*").alias("n"))
    spark.sql("INSERT INTO c_in VALUES (1), (2), (1)")
    stream.run(counts, "c", "complete")
    assert rows(spark, "SELECT * FROM c") == [(1, 2), (2, 1)]
    spark.sql("INSERT INTO c VALUES (9, 9)")
    spark.sql("INSERT INTO c_in VALUES (2)")
    stream.run(counts, "c", "complete")
    assert rows(spark, "SELECT * FROM c") == [(1, 2), (2, 2)]


def test_watermark_of_what_a_stream_writes(spark: SparkSession, stream: Stream) -> None:
    """The table's, by its own definition; the stream's does not matter."""
    spark.sql("CREATE TABLE wm_in (k INT, at TIMESTAMP)")
    spark.sql("CREATE TABLE wm (k INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 1 MINUTE)")
    for second in (30, 10, 40):
        spark.sql(f"INSERT INTO wm_in VALUES (1, timestamp_seconds({second})), (2, NULL)")
        stream.run(spark.readStream.table("wm_in"), "wm", "append")
    found = rows(spark, "SELECT snapshot_id, watermark FROM wm.snapshots")
    assert found == [(1, -30_000), (2, -30_000), (3, -20_000)]


def test_a_batch_that_runs_again(spark: SparkSession, stream: Stream) -> None:
    """It is not written twice; the state that a query keeps goes on from it all the same."""
    spark.sql("CREATE TABLE g_in (k INT, at TIMESTAMP)")
    spark.sql("CREATE TABLE g (k INT, n BIGINT, PRIMARY KEY (k) NOT ENFORCED)")
    late = spark.readStream.table("g_in").withWatermark("at", "1 minute")
    counts = late.groupBy("k").agg(count("*").alias("n"))
    for number in range(3):
        spark.sql(f"INSERT INTO g_in VALUES (1, current_timestamp()), ({number}, now())")
        stream.run(counts, "g", "update")
        written = rows(spark, "SELECT max(commit_identifier) FROM g.snapshots")[0][0]
        # Batches after it only move the watermark and write nothing.
        for batch in range(written, written + 2):
            stream.forget("commits", batch)
    stream.run(counts, "g", "update")
    assert rows(spark, "SELECT * FROM g") == [(0, 1), (1, 4), (2, 1)]
    assert rows(spark, "SELECT operation FROM g.snapshots") == [("STREAM",)] * 3


def test_change_types(spark: SparkSession, tmp_path: Path) -> None:
    """A stream of changes, applied to a copy of the table, makes it equal after every batch."""
    spark.sql("CREATE TABLE t_in (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE t_key (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.sql("CREATE TABLE t_bag (id INT, v INT)")
    changes = spark.readStream.table("t_in").select("v", "id", "_change_type")
    copies = {name: Stream(tmp_path / name) for name in ("t_key", "t_bag")}
    choice = random.Random(5)
    model: dict[int, int] = {}
    for _ in range(3):
        for _ in range(3):
            key, value = choice.randrange(8), choice.randrange(100)
            if choice.random() < 0.3:
                spark.sql(f"DELETE FROM t_in WHERE id < {key}")
                model = {k: v for k, v in model.items() if k >= key}
            else:
                spark.sql(f"INSERT INTO t_in VALUES ({key}, {value}), ({key + 1}, {value})")
                model |= {key: value, key + 1: value}
        for name, stream in copies.items():
            stream.run(changes, name, **{"change-type-column": "_change_type"})
            assert rows(spark, f"SELECT * FROM {name}") == sorted(model.items(), key=repr)


def test_foreach_batch(spark: SparkSession, stream: Stream) -> None:
    """A function that names its commits may run twice for a batch; so may a MERGE by key."""
    spark.sql("CREATE TABLE f_in (id INT)")
    spark.sql("CREATE TABLE f_log (id INT)")
    spark.sql("CREATE TABLE f_sum (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED)")

    def write(batch: DataFrame, number: int) -> None:
        named = {"commit-user": "job f", "commit-identifier": str(number)}
        batch.writeTo("f_log").options(**named).append()
        changed = batch.selectExpr("id", "1 AS n")
        merge = changed.alias("s").mergeInto("f_sum", expr("f_sum.id = s.id"))
        merge.whenMatched().updateAll().whenNotMatched().insertAll().merge()

    def run() -> None:
        writer = spark.readStream.table("f_in").writeStream.foreachBatch(write)
        writer = writer.option("checkpointLocation", str(stream.checkpoint))
        writer.trigger(availableNow=True).start().awaitTermination()

    spark.sql("INSERT INTO f_in VALUES (1), (2)")
    run()
    stream.forget("commits", 0)
    run()
    spark.sql("INSERT INTO f_in VALUES (3)")
    run()
    assert rows(spark, "SELECT * FROM f_log") == [(1,), (2,), (3,)]
    assert rows(spark, "SELECT * FROM f_sum") == [(1, 1), (2, 1), (3, 1)]


TRANSFERS = (
    "INSERT INTO transfers SELECT id, id % 4, (id * id + 1) % 4, id FROM range(40)",
    "INSERT INTO transfers VALUES (2, 3, 2, 70), (50, 1, 1, 9), (51, 2, 3, 1)",
    "DELETE FROM transfers WHERE id % 3 = 0",
    "UPDATE transfers SET to_account = 9, amount = amount * 2 WHERE to_account = 2",
)
BALANCES = (
    "SELECT account, sum(delta) FROM (SELECT inline(array(struct(from_account AS account, "
    "-amount AS delta), struct(to_account AS account, amount AS delta))) "
    "FROM transfers VERSION AS OF {}) GROUP BY account"
)


def test_bank_transfers(spark: SparkSession, tmp_path: Path) -> None:
    """What is in all accounts together is nothing, for every reader at every moment.

    Transfers change and are cancelled; two streams in a row keep balances and their total, are
    killed behind a batch's commit, and lose what their checkpoints said of it.
    """
    spark.sql(
        "CREATE TABLE transfers (id BIGINT, from_account INT, to_account INT, amount BIGINT, "
        "PRIMARY KEY (id) NOT ENFORCED)"
    )
    spark.sql("CREATE TABLE balances (account INT, v BIGINT, PRIMARY KEY (account) NOT ENFORCED)")
    spark.sql("CREATE TABLE total (k INT, v BIGINT, PRIMARY KEY (k) NOT ENFORCED)")
    sign = "CASE WHEN _change_type IN ('insert', 'update_postimage') THEN 1 ELSE -1 END"
    one_by_one = spark.readStream.option("maxFilesPerTrigger", 1)
    entries = one_by_one.table("transfers").selectExpr(
        f"inline(array(struct(from_account AS account, -amount * {sign} AS delta), "
        f"struct(to_account AS account, amount * {sign} AS delta)))"
    )
    balances = entries.groupBy("account").agg(total("delta").alias("v"))
    signed = one_by_one.table("balances").selectExpr("1 AS k", f"v * {sign} AS v")
    totals = signed.groupBy("k").agg(total("v").alias("v"))
    seen: list[Any] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.wait(0.1):
            seen.extend(rows(spark, "SELECT sum(v) FROM balances"))

    reader = threading.Thread(target=read)
    reader.start()
    first, second = Stream(tmp_path / "first"), Stream(tmp_path / "second")
    for number, statement in enumerate(TRANSFERS):
        spark.sql(statement)
        for stream, frame, sink in ((first, balances, "balances"), (second, totals, "total")):
            stream.run(frame, sink, "update")
            if number in {1, 2}:
                stream.forget("commits", number)
            if number == 2:
                stream.forget("offsets", number)
    is_over.set()
    reader.join()
    assert {row[0] for row in seen} - {None} == {0}  # NULL while there is no account
    commits = "SELECT snapshot_id FROM {}.snapshots WHERE commit_kind <> 'COMPACT'"
    sources, results = (rows(spark, commits.format(t)) for t in ("transfers", "balances"))
    assert len(results) == len(TRANSFERS)
    for (source,), (result,) in zip(sources, results, strict=True):
        found = rows(spark, f"SELECT * FROM balances VERSION AS OF {result} WHERE v <> 0")
        assert found == [row for row in rows(spark, BALANCES.format(source)) if row[1]]
        assert sum(value for _, value in found) == 0
    told = "SELECT v, _change_type FROM total CHANGES FROM VERSION 1"
    assert rows(spark, told) == [(0, "insert")]


def test_commit_names(spark: SparkSession) -> None:
    """Both halves of a name are needed, and its numbers ascend."""
    spark.sql("CREATE TABLE n (id INT)")
    insert = "INSERT INTO n WITH ('commit-user' = 'me', 'commit-identifier' = '{}') VALUES ({})"
    for number, value in ((3, 1), (3, 2), (2, 3), (4, 4)):
        spark.sql(insert.format(number, value))
    assert rows(spark, "SELECT * FROM n") == [(1,), (4,)]
    for options, other in (
        ("'commit-user' = 'me'", "commit-identifier"),
        ("'commit-identifier' = '1'", "commit-user"),
    ):
        with pytest.raises(Exception, match=f"says nothing without '{other}'"):
            spark.sql(f"INSERT INTO n WITH ({options}) VALUES (1)")
    with pytest.raises(Exception, match="is reserved"):
        spark.sql(insert.format(2**63 - 1, 1))


def test_what_is_refused_at_the_start(spark: SparkSession, stream: Stream) -> None:
    """Before anything runs: no checkpoint, no key to update by, a second stream on the table."""
    spark.sql("CREATE TABLE r_in (k INT)")
    spark.sql("CREATE TABLE r (k INT)")
    source = spark.readStream.table("r_in")
    with pytest.raises(Exception, match=r"TABLE_STORE_NO_CHECKPOINT.*needs a checkpoint"):
        source.writeStream.toTable("r")
    with pytest.raises(Exception, match=r"default\.r has no primary key"):
        stream.run(source, "r", "update")
    spark.sql("INSERT INTO r_in VALUES (1)")
    first = source.writeStream.option("checkpointLocation", str(stream.checkpoint)).toTable("r")
    first.processAllAvailable()
    second = source.writeStream.option("checkpointLocation", str(stream.checkpoint) + "2")
    with pytest.raises(Exception, match=f"written by streaming query {first.id}"):
        second.toTable("r")
    spark.sql("INSERT INTO r VALUES (2)")
    first.stop()
    query = second.option("commit-usr", "x").trigger(availableNow=True).toTable("r")
    with pytest.raises(StreamingQueryException, match="TABLE_STORE_UNKNOWN_OPTION"):
        query.awaitTermination()
    kinds = source.groupBy("k").agg(expr("'insert' AS c"))
    with pytest.raises(StreamingQueryException, match="each batch is the whole table"):
        Stream(stream.checkpoint).run(kinds, "r", "complete", **{"change-type-column": "c"})
    second = source.writeStream.option("checkpointLocation", str(stream.checkpoint) + "2")
    second.trigger(availableNow=True).toTable("r").awaitTermination()
    assert rows(spark, "SELECT * FROM r") == [(1,), (1,), (2,)]


@pytest.mark.parametrize("lost", [1, 2])
def test_a_checkpoint_that_lost_its_end(spark: SparkSession, stream: Stream, lost: int) -> None:
    """The table knows what its newest batch had read, so rows that came since are no part of it."""
    source, sink = f"l{lost}_in", f"l{lost}"
    spark.sql(f"CREATE TABLE {source} (k INT)")
    spark.sql(f"CREATE TABLE {sink} (k INT)")
    for number in range(3):
        spark.sql(f"INSERT INTO {source} VALUES ({number})")
        stream.run(spark.readStream.table(source), sink)
    for number in range(3 - lost, 3):
        stream.forget("commits", number)
        stream.forget("offsets", number)
    spark.sql(f"INSERT INTO {source} VALUES (7)")
    stream.run(spark.readStream.table(source), sink)
    assert rows(spark, f"SELECT * FROM {sink}") == [(0,), (1,), (2,), (7,)]


def test_killed(spark: SparkSession, folder: Path, stream: Stream, tmp_path: Path) -> None:
    """Killed at any step and started again, a query delivers each row once."""
    source = tmp_path / "source"
    rows_in = spark.range(1200).selectExpr("cast(id AS INT) AS id", "'x' AS v")
    rows_in.repartition(8).write.json(str(source))
    spark.sql("CREATE TABLE k (id INT, v STRING)")
    location = spark.sql("DESCRIBE TABLE EXTENDED k").where("col_name = 'Location'").first()
    assert location is not None
    table = Path(location["data_type"].removeprefix("file:"))
    choice = random.Random(11)
    written, published = choice.randrange(1, 3), choice.randrange(4, 7)
    points = [
        lambda: len(list(table.glob("bucket-0/data-*"))) > written,
        lambda: (table / "snapshot" / f"snapshot-{published}").exists(),
    ]
    for point in points:
        with KillableStream(folder, source, "k", stream.checkpoint) as running:
            running.wait_until(point)
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(source))
    stream.run(files, "k")
    assert rows(spark, "SELECT count(*), count(DISTINCT id), sum(id) FROM k") == [
        (1200, 1200, 1199 * 600)
    ]


def test_files_and_snapshots_stay_few(spark: SparkSession, stream: Stream, tmp_path: Path) -> None:
    """Many small batches: the writer compacts, also without key, and old snapshots expire."""
    source = str(tmp_path / "source")
    given = spark.range(48).selectExpr("cast(id AS INT) AS id", "'x' AS v")
    given.repartition(24).write.json(source)
    spark.sql("CREATE TABLE few (id INT, v STRING) WITH ('snapshot.num-retained.max' = '10')")
    files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(source)
    stream.run(files, "few")
    written = rows(
        spark, "SELECT max(commit_identifier) FROM few.snapshots WHERE operation = 'STREAM'"
    )
    assert written == [(23,)]
    assert rows(spark, "SELECT count(*), count(DISTINCT id) FROM few") == [(48, 48)]
    assert spark.sql("SELECT * FROM few.files").count() < 20
    # The background may be a commit behind.
    assert spark.sql("SELECT * FROM few.snapshots").count() <= 12


@pytest.mark.parametrize("page", sorted({e.page for e in examples("python") if e.needs_spark}))
def test_examples_of_the_documents(page: str, spark: SparkSession, tmp_path: Path) -> None:
    known: dict[str, object] = {"spark": spark, "folder": str(tmp_path)}
    for example in examples("python"):
        if example.page == page and example.needs_spark:
            out = io.StringIO()
            with redirect_stdout(out):
                exec(example.code, known)
            assert words(out.getvalue()) == example.printed, f"{page}, line {example.line}"


def test_another_context_in_the_same_process(folder: Path, spark: SparkSession) -> None:
    """As a notebook that stops Spark and starts it anew; the last test, for `spark` ends here."""
    spark.sql("CREATE TABLE again (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    spark.stop()
    other = started_session(folder, OWN_NAME)
    try:
        other.range(100_000).selectExpr("cast(id AS INT) AS id").writeTo("again").append()
        assert rows(other, "SELECT count(*) FROM again") == [(100_000,)]
    finally:
        other.stop()
