"""The demo of a topology: streaming jobs in a job runner, and queries that read one barrier.

Started by `make demo-stream`; works in the folder `.demo-stream`, or the one given, which it
empties first. The connector `datagen` buys all the time; each piece costs ten, so whoever reads
amounts and prices of two moments together sees it. Ends with an error where a result is wrong that
must not be.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from pathlib import Path

from pyspark.sql import Row, SparkSession

from demo.programs import Programs
from table_store import jobs

HERE = Path(__file__).resolve().parent
FOLDER = Path(sys.argv[1]).resolve() if sys.argv[1:] else HERE.parent / ".demo-stream"
WAREHOUSE = FOLDER / "warehouse"
PROGRAMS = Path(sys.executable).parent
_READS = 10
_READS_UNTIL_WRONG = 500
_PRICE = 10

# The user case of FLIP-276, whose printed query is this one, but for counting instead of showing.
_TABLES = (
    "CREATE TABLE shopping (userId BIGINT, itemId BIGINT, amount BIGINT, price DOUBLE)",
    "CREATE TABLE user_item_amount (userId BIGINT, itemId BIGINT, totalAmount BIGINT)",
    "CREATE TABLE user_item_price (userId BIGINT, itemId BIGINT, totalPrice DOUBLE)",
)
_SOURCE = f"""CREATE TEMPORARY TABLE shopping_source (
        userId BIGINT, itemId BIGINT, amount BIGINT, price AS CAST({_PRICE} * amount AS DOUBLE)
    ) WITH (
        'connector' = 'datagen', 'rows-per-second' = '250',
        'fields.userId.min' = '1', 'fields.userId.max' = '3',
        'fields.itemId.min' = '1', 'fields.itemId.max' = '9',
        'fields.amount.min' = '1', 'fields.amount.max' = '8'
    )"""
_JOBS = {
    "shopping": "SELECT userId, itemId, amount, price FROM shopping_source",
    "user_item_amount": "SELECT userId, itemId, sum(amount) FROM shopping GROUP BY userId, itemId",
    "user_item_price": "SELECT userId, itemId, sum(price) FROM shopping GROUP BY userId, itemId",
}
_VIEW = """CREATE MATERIALIZED VIEW top_items TRIGGER ON UPDATE AS
    SELECT itemId, sum(totalAmount) AS pieces FROM user_item_amount GROUP BY itemId"""
_OLAP = f"""
    SELECT count_if(T2.totalPrice <> {_PRICE} * T1.totalAmount) AS wrong,
        sum(T1.totalAmount) AS pieces
    FROM user_item_amount T1
    JOIN user_item_price T2 ON T1.userId = T2.userId AND T1.itemId = T2.itemId"""
_WRONG_PRICE = "INSERT INTO shopping VALUES (1, 1, 8, 8000)"
_REVISION = """CALL sys.revise(table => 'shopping',
    statement => 'UPDATE shopping SET price = 80 WHERE price = 8000')"""
_TOPOLOGY = (
    """SELECT T.table_name FROM __META_JOB_SOURCE S
    JOIN __META_JOB_Sink T ON S.job_id = T.job_id WHERE S.table_name = 'shopping'""",
    "SELECT * FROM __META_TABLE_VERSION",
    """SELECT table_name, column_name, source_table, source_column FROM sys.column_lineage
    WHERE kind = 'value'""",
    "SELECT table_name, barrier, delay_ms FROM sys.table_delay",
    "SHOW JOBS",
)


def title(text: str) -> None:
    """Say what comes next."""
    print(f"\n-- {text}", flush=True)


def show(spark: SparkSession, query: str) -> None:
    """Print a query and its rows."""
    print(" ".join(query.split()))
    spark.sql(query).show(truncate=False)


def start_runner(programs: Programs) -> None:
    """Start a job runner of the warehouse."""
    warehouse = f"spark.sql.warehouse.dir={WAREHOUSE}"
    session = ("--master", "local[2]", "--driver-memory", "1g", "--conf", warehouse)
    programs.start("runner", "table-store", "jobs", *session)


def wrong_reads(spark: SparkSession, consistency: str, *, reads_max: int = _READS) -> int:
    """Read again and again, and return how often amounts and prices did not fit together.

    After the first ten reads it goes on until one is wrong, but not beyond `reads_max`.
    """
    spark.sql(f"SET 'table-store.consistency' = '{consistency}'")
    seen: list[Row] = []
    while len(seen) < _READS or (len(seen) < reads_max and not any(row.wrong for row in seen)):
        seen.append(spark.sql(_OLAP).collect()[0])
    spark.sql("RESET 'table-store.consistency'")
    wrong = len([row for row in seen if row.wrong])
    pieces = f"{seen[0].pieces} to {seen[-1].pieces} pieces"
    print(f"{consistency}: {wrong} of {len(seen)} reads are wrong ({pieces})", flush=True)
    return wrong


def check(spark: SparkSession) -> None:
    """Compare the tables at a barrier with what their queries give there.

    Raises:
        SystemExit: one is not what it should be.
    """
    spark.sql("SET 'table-store.consistency' = 'RepeatableRead'")
    for sink, query in _JOBS.items():
        if sink == "shopping":
            continue
        for one, other in ((f"TABLE {sink}", query), (query, f"TABLE {sink}")):
            left = spark.sql(f"({one}) EXCEPT ALL ({other})").count()
            if left:
                raise SystemExit(f"{sink} is wrong: {left} rows differ")
    spark.sql("RESET 'table-store.consistency'")
    print("each table is what its query gives at one barrier: checked, both ways")


def run(spark: SparkSession) -> None:
    """Show everything, and check it.

    Raises:
        SystemExit: a result is wrong.
    """
    title("Three tables, three streaming jobs and a materialized view, submitted to a job runner")
    programs = Programs(FOLDER)
    start_runner(programs)
    arguments = ("--warehouse", str(WAREHOUSE), "--port", "0")
    programs.start("meta-service", "table-store", "meta-service", *arguments)
    try:
        submit(spark)
        _wait_until_hosted(spark)
        print(f"{programs.log('meta-service').read_text().strip()} (while this demo runs)")
        title("Amounts joined with prices while people shop: each piece costs ten")
        wrong_reads(spark, "ReadUncommitted", reads_max=_READS_UNTIL_WRONG)
        read_rightly(spark, "RepeatableRead")
        title("The runner is killed (kill -9), and queries go on at the last barrier")
        programs.end("runner", signal.SIGKILL)
        start_runner(programs)
        read_rightly(spark, "RepeatableRead")
        show(spark, "SELECT table_name, delay_ms, bottlenecks FROM sys.table_delay")
        title("Another runner goes on where it was")
        _wait_until_hosted(spark)
        check(spark)
        correct(spark)
        title("What hangs together")
        for query in _TOPOLOGY:
            show(spark, query)
    finally:
        programs.close()


def submit(spark: SparkSession) -> None:
    """Make the tables and the view, and submit the jobs."""
    spark.sql("SET 'table-store.jobs' = 'runner'")
    for statement in (*_TABLES, _SOURCE):
        spark.sql(statement)
    spark.sql("SET 'execution.checkpointing.interval' = '500 ms'")
    for sink, query in _JOBS.items():
        print(f"INSERT INTO {sink} {query}")
        spark.sql(f"INSERT INTO {sink} {query}")
    spark.sql("RESET 'execution.checkpointing.interval'")
    print(_VIEW)
    spark.sql(_VIEW)


def read_rightly(spark: SparkSession, consistency: str) -> None:
    """Read at barriers, with RepeatableRead or ReadCommitted.

    Raises:
        SystemExit: a read has mixed two moments.
    """
    if wrong_reads(spark, consistency):
        raise SystemExit(f"{consistency} read two moments together")


def correct(spark: SparkSession) -> None:
    """Let a wrong price come in, and set right all that was made of it.

    After CALL sys.flush() the jobs have the price at one barrier, which ReadCommitted reads at
    once; RepeatableRead would wait for the view, too.

    Raises:
        SystemExit: the wrong price does not show, or it still does after the revision.
    """
    title("A price is written down wrong, and a revision sets right all that was made of it")
    for statement in (_WRONG_PRICE, "CALL sys.flush()"):
        print(statement)
        spark.sql(statement)
    if wrong_reads(spark, "ReadCommitted") < _READS:
        raise SystemExit("the wrong price does not show")
    show(spark, _REVISION)
    read_rightly(spark, "ReadCommitted")


def _wait_until_hosted(spark: SparkSession) -> None:
    begin = time.monotonic()
    while not all(job.is_running for job in jobs.list_jobs(spark)):
        if time.monotonic() - begin > 90:
            raise SystemExit(f"no job runs: see {FOLDER / 'runner.log'}")
        time.sleep(0.2)
    for table in (None, "top_items"):  # all jobs, and the view, which no job writes
        jobs.flush(spark, table)
    print(f"the jobs run after {time.monotonic() - begin:.0f} s", flush=True)


def main() -> None:
    """Start Spark, and run."""
    begin = time.monotonic()
    shutil.rmtree(FOLDER, ignore_errors=True)
    WAREHOUSE.mkdir(parents=True)
    os.chdir(FOLDER)
    os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    builder = SparkSession.builder.master("local[2]").appName("stream")
    builder = builder.config("spark.ui.showConsoleProgress", "false")
    spark = builder.config("spark.sql.warehouse.dir", str(WAREHOUSE)).getOrCreate()
    run(spark)
    spark.stop()
    print(f"Done in {time.monotonic() - begin:.0f} s.")
    print(_NEXT.format(folder=FOLDER, programs=PROGRAMS, warehouse=WAREHOUSE))


_NEXT = """
The tables and jobs are still there. Try next, each in a terminal of its own:
   {programs}/table-store jobs --conf spark.sql.warehouse.dir={warehouse}
   {programs}/table-store meta-service --warehouse {warehouse}
   {programs}/table-store sql --conf spark.sql.warehouse.dir={warehouse}
   spark-sql> INSERT INTO shopping VALUES (1, 1, 3, 30);
   spark-sql> CALL sys.flush('user_item_amount');
   spark-sql> SELECT * FROM top_items ORDER BY itemId;"""

if __name__ == "__main__":
    main()
