"""What a statement costs, in counted things: requests to the planner, Spark jobs, shuffles, reads.

Times differ from machine to machine; these counts do not, and a statement that needs one more
round trip or one more job is slower everywhere.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.spark

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[2]").getOrCreate()
spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
spark.conf.set("spark.sql.shuffle.partitions", "4")
# Spark counts no bytes of reads that it gathers.
spark.conf.set("parquet.hadoop.vectored.io.enabled", "false")
requests = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess.requests()
status, tracker = spark._jsc.sc().statusStore(), spark.sparkContext.statusTracker()
costs = {}

def stages(jobs):
    return [
        status.lastStageAttempt(stage)
        for stage in {stage for job in jobs for stage in tracker.getJobInfo(job).stageIds}
    ]


def counts(plan):
    # What the scans of a plan that has ended say they did.
    found = {}
    left = [plan]
    while left:
        node = left.pop()
        if node.nodeName() == "AdaptiveSparkPlan":
            left.append(node.executedPlan())
            continue
        if "QueryStage" in node.nodeName():
            left.append(node.plan())
        children = node.children()
        left.extend(children.apply(i) for i in range(children.size()))
        for name in ("files", "keyMerges", "rowMerges"):
            metric = node.metrics().get(name)
            if metric.isDefined():
                found[name] = found.get(name, 0) + metric.get().value()
    return found


for name, sql in json.loads(sys.argv[1]):
    requests.clear()
    spark.sparkContext.setJobGroup(name, name)
    answer = spark.sql(sql)
    rows = sorted(map(list, answer.collect()), key=str)
    # What tasks have done is told to the status store a little later.
    spark._jsc.sc().listenerBus().waitUntilEmpty()
    jobs = tracker.getJobIdsForGroup(name)
    costs[name] = {
        "jobs": len(jobs),
        # Rows that the jobs wrote for a shuffle; rows and bytes that came from files.
        "shuffled": sum(stage.shuffleWriteRecords() for stage in stages(jobs)),
        "decoded": sum(stage.inputRecords() for stage in stages(jobs)),
        "bytes": sum(stage.inputBytes() for stage in stages(jobs)),
        "shuffles": answer._jdf.queryExecution().executedPlan().toString().count("Exchange hash"),
        "rows": rows,
        "reads": counts(answer._jdf.queryExecution().executedPlan()),
        "requests": {key: int(requests[key]) for key in requests},
    }
print("costs:" + json.dumps(costs))
"""

STATEMENTS = [
    ("create", "CREATE TABLE k (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED)"),
    ("insert values", "INSERT INTO k VALUES (1, 10), (2, 20)"),
    ("insert one row", "INSERT INTO k SELECT 3 AS id, 30 AS v"),
    ("select", "SELECT id, v FROM k"),
    ("lookup", "SELECT id, v + 1 AS v FROM k WHERE id = 2 AND v > 1"),
    ("explain", "EXPLAIN SELECT 1 / (v - 20) FROM k WHERE id = 2"),
    ("update", "UPDATE k SET v = v + 1 WHERE id = 2"),
    ("compact", "ALTER TABLE k COMPACT"),
    ("count", "SELECT count(*), max(v) FROM k"),
    ("cache", "CACHE TABLE kept AS SELECT id, CAST(id * 2 AS INT) AS v FROM range(0, 9, 1, 3)"),
    ("create from kept", "CREATE TABLE from_kept (id BIGINT, v INT)"),
    ("insert kept", "INSERT INTO from_kept SELECT id, v FROM kept WHERE id <> 4"),
    ("kept", "SELECT * FROM from_kept"),
    ("files of kept", "SELECT count(*) FROM `from_kept$files`"),
    (
        "cache long",
        "CACHE TABLE long AS SELECT id, repeat('x', 6000000) AS t FROM range(0, 3, 1, 3)",
    ),
    ("create from long", "CREATE TABLE from_long (id BIGINT, t STRING)"),
    ("show tables", "SHOW TABLES LIKE 'from_*'"),
    ("insert long", "INSERT INTO from_long SELECT * FROM long"),
    ("files of long", "SELECT count(*) FROM `from_long$files`"),
]

# Two tables of three buckets, in several splits each; of `few` two buckets are empty.
_BUCKETS = "PRIMARY KEY (id) NOT ENFORCED) TBLPROPERTIES ('bucket' = '3', 'write-only' = 'true')"
BUCKETED = [
    ("create many", f"CREATE TABLE many (id BIGINT, v INT, {_BUCKETS}"),
    ("create some", f"CREATE TABLE some (id BIGINT, v INT, {_BUCKETS}"),
    ("create few", f"CREATE TABLE few (id BIGINT, v INT, {_BUCKETS}"),
    ("create short", f"CREATE TABLE short (id INT, v INT, {_BUCKETS}"),
    ("create five", f"CREATE TABLE five (id BIGINT, v INT, {_BUCKETS.replace('3', '5')}"),
    ("many 1", "INSERT INTO many SELECT id, 1 FROM range(0, 60)"),
    ("many 2", "INSERT INTO many SELECT id, 2 FROM range(40, 100)"),
    ("some 1", "INSERT INTO some SELECT id, 10 FROM range(50, 150)"),
    ("few 1", "INSERT INTO few VALUES (7, 100)"),
    ("short 1", "INSERT INTO short SELECT id, 1000 FROM range(90, 110)"),
    ("five 1", "INSERT INTO five SELECT id, 10000 FROM range(90, 110)"),
    ("join", "SELECT sum(m.v), sum(s.v), count(*) FROM many m JOIN some s ON m.id = s.id"),
    ("outer join", "SELECT f.v, count(*) FROM many m LEFT JOIN few f ON m.id = f.id GROUP BY 1"),
    ("group by", "SELECT count(*), sum(v) FROM (SELECT id, sum(v) AS v FROM many GROUP BY id)"),
    ("join and group by", "SELECT m.id, sum(m.v) FROM many m, some s WHERE m.id = s.id GROUP BY 1"),
    ("other type", "SELECT count(*) FROM many m JOIN short s ON m.id = s.id"),
    ("other count", "SELECT count(*) FROM many m JOIN five f ON m.id = f.id"),
]

_ROWS = 20_000
_SOURCE = "SELECT id * 40 AS id, id AS n FROM range(10)"
SOURCES = {
    "rows as they are": _SOURCE,
    "table": "SELECT * FROM source",
    "condition": f"SELECT * FROM ({_SOURCE}) WHERE n >= 0",
    "limit": "SELECT * FROM source LIMIT 10",
    "newest of each key": "SELECT id, n FROM (SELECT *, row_number() OVER (PARTITION BY id "
    "ORDER BY n) AS place FROM source) WHERE place = 1",
    "groups": f"SELECT id, max(n) AS n FROM ({_SOURCE}) GROUP BY id",
    "join": f"SELECT a.id, b.n FROM ({_SOURCE}) AS a JOIN source AS b ON a.id = b.id",
}
"""Ten rows with keys 0, 40, 80, …, in shapes that MERGE statements have as their source."""

# Without its limit, the cast would meet what is no number.
_LIMITED = (
    "SELECT CAST(if(id < 10, CAST(id * 40 AS STRING), 'x') AS BIGINT) AS id, id AS n "
    "FROM (SELECT * FROM range(20) ORDER BY id LIMIT 10)"
)
_MERGE = "MERGE INTO target AS t USING ({}) AS s ON t.id = s.id AND t.v >= 0"
_INSERT = "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, -1)"
_UPSERT = f"{_MERGE} WHEN MATCHED THEN UPDATE SET v = v + n {_INSERT}"
MERGED = [
    ("small", "SET spark.sql.autoBroadcastJoinThreshold = 1MB"),
    ("target", "CREATE TABLE target (id BIGINT PRIMARY KEY, v BIGINT, long STRING)"),
    (
        "fill target",
        f"INSERT INTO target SELECT id * 2, 0, sha2(string(id), 512) FROM range({_ROWS})",
    ),
    ("source", "CREATE TABLE source (id BIGINT, n BIGINT)"),
    ("fill source", f"INSERT INTO source {_SOURCE}"),
    *((f"merge: {name}", _UPSERT.format(source)) for name, source in SOURCES.items()),
    ("merge: only inserts", f"{_MERGE.format(_SOURCE)} {_INSERT}"),
    ("merge limited", _UPSERT.format(_LIMITED)),
    ("explain delete", "EXPLAIN DELETE FROM target WHERE v > 1"),
    ("explain formatted", "EXPLAIN FORMATTED DELETE FROM target WHERE v > 1"),
    (
        "explain merge",
        f"EXPLAIN {_MERGE.format(SOURCES['table'])} WHEN MATCHED THEN DELETE",
    ),
    ("merged", "SELECT id, v FROM target WHERE v <> 0"),
    ("merged count", "SELECT count(*) FROM target"),
]

_KINDS = (
    "id BIGINT, t STRING, d DECIMAL(30, 1), f DOUBLE, b BOOLEAN, a ARRAY<INT>, "
    "m MAP<STRING, INT>, s STRUCT<x: INT, r: STRUCT<y: STRING>>"
)
_KINDS_ROWS = (
    "INSERT INTO kinds SELECT id, 't' || id * {n}, id * {n}, id / 2, id % 2 = 0, "
    "array(1, null, id * {n}), map('k', id), if(id % 3 = 0, null, "
    "named_struct('x', id * {n}, 'r', named_struct('y', 'y' || id * {n}))) FROM "
)
_KINDS_QUERY = (
    "SELECT count(*), sum(cast(substr(t, 2) AS INT)), cast(sum(d) AS INT), cast(sum(f) AS INT), "
    "count_if(b), sum(a[2]), count(a[1]), sum(m['k']), sum(s.x), "
    "sum(cast(substr(s.r.y, 2) AS INT)) FROM kinds"
)

_DAYS = "id INT, v INT, PRIMARY KEY (d, id) NOT ENFORCED"

# A table of two overlapping runs, each one file, read again and again.
READS = [
    ("create runs", "CREATE TABLE runs (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED)"),
    ("run 1", "INSERT INTO runs SELECT id, 1 FROM range(0, 3000)"),
    ("run 2", "INSERT INTO runs SELECT id, 2 FROM range(2000, 4000)"),
    ("limit", "SELECT v FROM runs LIMIT 1"),
    ("keys", "SELECT sum(v) FROM runs WHERE id < 2500 AND id > 10"),
    ("first", "SELECT sum(v) FROM runs"),
    ("second", "SELECT v, count(*) FROM runs GROUP BY v"),
    ("known keys", "SELECT sum(v) FROM runs WHERE id < 2500 AND id > 10"),
    ("length", "SELECT count(*) FROM runs"),
    ("delete one", "DELETE FROM runs WHERE id = 3999"),
    ("after delete", "SELECT count(*), sum(v) FROM runs"),
    ("add column", "ALTER TABLE runs ADD COLUMN w INT"),
    ("after add column", "SELECT count(w), sum(v) FROM runs"),
    ("create days", f"CREATE TABLE days (d INT, {_DAYS}) PARTITIONED BY (d)"),
    ("days 1", "INSERT INTO days SELECT id % 2, id, 1 FROM range(0, 3000)"),
    ("days 2", "INSERT INTO days SELECT id % 2, id, 2 FROM range(2000, 4000)"),
    ("first of a day", "SELECT sum(v) FROM days WHERE d = 1"),
    ("second of a day", "SELECT count(*) FROM days WHERE d = 1 AND v > 1"),
    ("create kinds", f"CREATE TABLE kinds ({_KINDS}, PRIMARY KEY (id) NOT ENFORCED)"),
    ("kinds 1", _KINDS_ROWS.format(n=1) + "range(0, 900)"),
    ("kinds 2", _KINDS_ROWS.format(n=2) + "range(300, 1200)"),
    ("first kinds", _KINDS_QUERY),
    ("second kinds", _KINDS_QUERY),
    ("create groups", "CREATE TABLE groups (id BIGINT, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"),
    ("groups 1", "INSERT INTO groups SELECT id, id FROM range(600000)"),
    ("groups 2", "INSERT INTO groups SELECT id, -1 FROM range(0, 600000, 1000)"),
    ("last group", "SELECT count(*), sum(v) FROM groups WHERE v >= 550000"),
    ("all groups", "SELECT count(*), sum(v) FROM groups"),
    ("batches", "SET spark.sql.parquet.columnarReaderBatchSize = 1001"),
    ("groups in batches", "SELECT count(*), sum(v) FROM groups"),
    ("usual batches", "RESET spark.sql.parquet.columnarReaderBatchSize"),
    ("delete some", "DELETE FROM groups WHERE v % 100 = 7"),
    ("update some", "UPDATE groups SET v = -2 WHERE v % 100 = 8"),
    ("delete joined", "DELETE FROM groups WHERE id IN (SELECT id * 100 + 9 FROM range(10))"),
    ("some changed", "SELECT count(*), sum(v), count_if(v = -2) FROM groups"),
    ("create wide", "CREATE TABLE wide (id BIGINT PRIMARY KEY, v INT, long STRING)"),
    ("wide 1", "INSERT INTO wide SELECT id, id, sha2(string(id), 512) FROM range(0, 20000)"),
    ("narrow column", "SELECT sum(v) FROM wide"),
    ("wide column", "SELECT max(substr(long, 3)) FROM wide"),
    ("no such value", "SELECT max(long) FROM wide WHERE v = -1"),
    ("pages", "CREATE TABLE pages (id STRING, v BIGINT, PRIMARY KEY (id) NOT ENFORCED)"),
    (
        "fill pages",
        "INSERT INTO pages SELECT lpad(string(id), 48, '0'), id FROM range(0, 200000, 1, 1)",
    ),
    (
        "some pages",
        f"SELECT count(*), count_if(v <> bigint(id)) FROM pages WHERE id >= '{60_000:048}'",
    ),
    ("compact runs", "ALTER TABLE runs COMPACT"),
    ("compacted", "SELECT count(*), sum(v) FROM runs WHERE v > 0"),
]

# 9,000 rows that are taken for so much that two tasks are worth it. Later rows of a key win. Of
# the three days the last is none for Python.
_DAY = "date_add(DATE '9999-12-30', int(n % 3))"
_BY_DAY = "day DATE, name STRING, id BIGINT, v BIGINT, PRIMARY KEY (day, name, id)"
PARTS = [
    ("much", "CREATE TABLE much USING parquet AS SELECT id AS n FROM range(0, 9000, 1, 1)"),
    ("counts as much", "SET spark.sql.sources.fileCompressionFactor = 2500"),
    ("parts", f"CREATE TABLE parts ({_BY_DAY})"),
    ("fill parts", f"INSERT INTO parts SELECT {_DAY}, string(n % 2), n % 6000, n FROM much"),
    ("rows of parts", "SELECT count(*), sum(v), count_if(v < 6000) FROM parts"),
    ("files of parts", "SELECT record_count, level FROM `parts$files`"),
    ("scan of parts", "EXPLAIN SELECT * FROM parts"),
    ("few", "CREATE TABLE few_days USING parquet AS SELECT id AS d FROM range(3)"),
    *(
        statement
        for name, query in {
            "condition": "SELECT n, 'v' FROM much WHERE sqrt(n) >= 50",
            "few left": "SELECT n, 'v' FROM much WHERE sqrt(n) < 2",
            "join": "SELECT /*+ BROADCAST(f) */ n, 'v' FROM much m JOIN few_days f ON n % 3 = d",
            # Of little that was read, much is shuffled.
            "groups": "SELECT n % 4000, max(repeat(string(n), 5000)) FROM much GROUP BY 1",
            "random": "SELECT n, 'v' FROM much WHERE rand(1) >= 0 DISTRIBUTE BY n % 5",
        }.items()
        for statement in (
            (f"create {name}", f"CREATE TABLE `of {name}` (id STRING, v STRING, PRIMARY KEY (id))"),
            (f"fill {name}", f"INSERT INTO `of {name}` {query}"),
            (f"rows of {name}", f"SELECT count(*), sum(int(id)) FROM `of {name}`"),
            (f"files of {name}", f"SELECT record_count FROM `of {name}$files`"),
        )
    ),
]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Answer, jobs, shuffles, reads and requests by name of each of the statements."""
    folder: Path = tmp_path_factory.mktemp("costs")
    statements = [*STATEMENTS, *BUCKETED, *READS, *MERGED, *PARTS]
    command = [sys.executable, "-c", PROGRAM, json.dumps(statements)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    (line,) = (x for x in ended.stdout.splitlines() if x.startswith("costs:"))
    return json.loads(line.removeprefix("costs:"))


def test_tables_are_listed_by_their_names(costs: Any) -> None:
    """None is loaded: it may be damaged, or gone by then."""
    assert [row[1] for row in costs["show tables"]["rows"]] == ["from_kept", "from_long"]
    assert costs["show tables"]["requests"] == {"list_tables": 1, "list_views": 1}


@pytest.mark.parametrize("name", ["insert values", "insert one row"])
def test_rows_that_are_known_need_no_job(costs: Any, name: str) -> None:
    """The statement's table is looked up and its rows are written: no Spark job."""
    assert costs[name]["jobs"] == 0
    assert costs[name]["requests"] == {"load_table": 1, "write": 1}


def test_few_rows_in_memory_are_fetched_and_written(costs: Any) -> None:
    """Three tasks would write three files, each with a Python worker."""
    assert costs["insert kept"]["jobs"] == 1
    assert costs["kept"]["rows"] == [[n, 2 * n] for n in range(9) if n != 4]
    assert costs["files of kept"]["rows"] == [[1]]
    assert costs["files of long"]["rows"] == [[3]], "the tasks write them"


def test_select_is_one_plan(costs: Any) -> None:
    """Spark resolves the table and looks again just before it runs; the scan is planned once."""
    assert costs["select"]["jobs"] == 1
    assert costs["select"]["requests"] == {"load_relation": 1, "load_table": 1, "plan_scan": 1}


def test_update_plans_one_scan_and_one_write(costs: Any) -> None:
    """One job reads and writes (its shuffle included)."""
    assert costs["update"]["jobs"] <= 2
    requests = dict(costs["update"]["requests"])
    # Spark may look again whether the table has changed since it was resolved.
    assert requests.pop("load_table") <= 2
    assert requests == {"plan_scan": 1, "write": 1}


def test_a_lookup_by_key_takes_no_job(costs: Any) -> None:
    """The planner finds the row, and what else is asked of it is evaluated where it is planned."""
    assert costs["lookup"]["jobs"] == 0
    assert costs["lookup"]["rows"] == [[2, 21]]


def test_the_error_of_a_looked_up_row_is_not_that_of_its_plan(costs: Any) -> None:
    """EXPLAIN shows a plan, though the query divides by zero."""
    assert "LocalTableScan" in costs["explain"]["rows"][0][0]
    assert "DIVIDE_BY_ZERO" not in costs["explain"]["rows"][0][0]


def test_count_and_max_after_compaction_read_nothing(costs: Any) -> None:
    """The manifests answer, so no scan is planned, and their row is in the plan."""
    assert costs["count"]["jobs"] == 0
    assert costs["count"]["requests"] == {
        "load_relation": 1,
        "load_table": 1,
        "exact_aggregates": 1,
    }


def test_compaction_of_little_is_done_by_the_planner(costs: Any) -> None:
    """A Spark job would cost more than the compaction."""
    assert costs["compact"]["jobs"] == 0
    assert costs["compact"]["requests"] == {"parse": 1, "run_statement": 1}


@pytest.mark.parametrize(
    ("name", "rows", "shuffles"),
    [
        ("join", [[100, 500, 50]], 0),
        ("group by", [[100, 160]], 0),
        ("join and group by", [[i, 2] for i in range(50, 100)], 0),
        # Of these every table is shuffled: 1 as INT has another hash than as BIGINT.
        ("other type", [[10]], 2),
        ("other count", [[10]], 2),
    ],
)
def test_tables_of_the_same_buckets_are_joined_and_grouped_where_they_are(
    costs: Any, name: str, rows: list[list[int]], shuffles: int
) -> None:
    """Spark knows what bucket a key is in, also where a bucket of the other table is empty."""
    assert costs[name]["rows"] == rows
    # A plan that has ended shows each shuffle as it was planned and as it ran.
    assert costs[name]["shuffles"] <= 2 * shuffles
    assert (costs[name]["shuffles"] > 0) == (shuffles > 0)


def test_outer_join_with_a_table_of_one_full_bucket(costs: Any) -> None:
    """Rows of buckets that the other table has none of are there; the one shuffle is by `f.v`."""
    assert costs["outer join"]["rows"] == [[100, 1], [None, 99]]
    assert costs["outer join"]["shuffles"] <= 2


@pytest.mark.parametrize("source", [*SOURCES, "only inserts"])
def test_merge_of_few_rows_shuffles_few(costs: Any, source: str) -> None:
    """Rows of the target that no row of the source meets are left out before the join."""
    assert costs[f"merge: {source}"]["shuffled"] < _ROWS / 10


@pytest.mark.parametrize("name", ["explain delete", "explain merge"])
def test_row_changes_read_the_columns_they_need(costs: Any, name: str) -> None:
    """EXPLAIN shows one scan of the target, with its key and what the condition looks at."""
    ((plan,),) = costs[name]["rows"]
    scans = re.findall(r"RelationV2\[([^\]]*)\] table_store.default.target", plan)
    assert len(set(scans)) == 1
    assert re.sub(r"#\d+L?", "", scans[0]) == "id, v"


def test_explain_formatted_shows_no_request(costs: Any) -> None:
    """What the bridge asks the planner is nothing that a user said."""
    ((plan,),) = costs["explain formatted"]["rows"]
    assert "Arguments: table_store.default.target\n" in plan
    assert "JObject" not in plan


def test_merge_changes_what_the_source_meets(costs: Any) -> None:
    """Each of these sources adds its ten numbers to ten rows, and inserts nothing."""
    sources = len(SOURCES) + 1
    assert sorted(costs["merged"]["rows"]) == [[n * 40, n * sources] for n in range(1, 10)]
    assert costs["merged count"]["rows"] == [[_ROWS]]


@pytest.mark.parametrize(
    ("name", "rows", "files", "key_merges", "row_merges"),
    [
        # Few rows are merged at once where a condition on the key, or a limit, leaves few.
        ("limit", None, 0, 0, 1),
        ("keys", [[1989 + 2 * 500]], 0, 0, 1),
        ("first", [[2000 + 2 * 2000]], 2, 1, 0),
        ("second", [[1, 2000], [2, 2000]], 2, 0, 0),
        ("known keys", [[1989 + 2 * 500]], 2, 0, 0),
        ("length", [[4000]], 0, 0, 0),
        ("after delete", [[3999, 2000 + 2 * 1999]], 2, 1, 0),
        ("after add column", [[0, 2000 + 2 * 1999]], 2, 0, 0),
        ("first of a day", [[1000 + 2 * 1000]], 2, 1, 0),
        ("second of a day", [[1000]], 2, 0, 0),
        ("compacted", [[3999, 2000 + 2 * 1999]], 1, 0, 0),
    ],
)
def test_runs_are_merged_once(
    costs: Any,
    name: str,
    rows: list[list[int]] | None,
    files: int,
    key_merges: int,
    row_merges: int,
) -> None:
    """Later queries of the same files read what they need and merge nothing."""
    if rows is not None:
        assert costs[name]["rows"] == rows
    assert costs[name]["reads"] == {
        "files": files,
        "keyMerges": key_merges,
        "rowMerges": row_merges,
    }


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("select", 3),
        ("first", 4000),
        ("second", 4000),
        ("first of a day", 2000),
        ("second of a day", 1000),
        ("compacted", 3999),
        ("narrow column", 20_000),
        ("no such value", 0),
    ],
)
def test_rows_are_decoded_once(costs: Any, name: str, rows: int) -> None:
    """Superseded rows do not reach Spark, nor those of files that bounds leave out."""
    assert costs[name]["decoded"] == rows


def test_columns_whose_pages_have_other_rows_are_read_side_by_side(costs: Any) -> None:
    """A condition on the pages of `id` begins amid one of `v`, where deltas would be skipped."""
    assert costs["some pages"]["rows"] == [[140_000, 0]]


def test_bytes_are_read_of_the_columns_that_are_asked_for(costs: Any) -> None:
    """`long` has 128 random letters in each row, `v` an integer; live rows are not read again."""
    assert costs["wide column"]["bytes"] > 20_000 * 50
    assert costs["narrow column"]["bytes"] < costs["wide column"]["bytes"] / 10
    assert costs["no such value"]["bytes"] == 0
    assert 0 < costs["second"]["bytes"] <= costs["first"]["bytes"]


def test_live_rows_of_every_kind_of_column(costs: Any) -> None:
    """Nested ones, too: a row's place in its batch is not that in its file."""
    ids = range(1200)
    changed = sum(i if i < 300 else 2 * i for i in ids)
    known = sum(i if i < 300 else 2 * i for i in ids if i % 3)
    expected = [1200, changed, changed, sum(ids) // 2, 600, changed, 0, sum(ids), known, known]
    assert costs["first kinds"]["rows"] == costs["second kinds"]["rows"] == [expected]
    assert costs["second kinds"]["reads"] == {"files": 2, "keyMerges": 0, "rowMerges": 0}
    # Where the files have what is known, too.
    assert costs["second kinds"]["bytes"] < costs["first kinds"]["bytes"]


def test_live_rows_of_a_file_whose_first_row_groups_are_left_out(costs: Any) -> None:
    """Their bounds rule out the condition; of those that are read the right rows are live."""
    kept = [i for i in range(600_000) if i % 1000]
    last = [i for i in kept if i >= 550_000]
    assert costs["last group"]["rows"] == [[len(last), sum(last)]]
    assert costs["all groups"]["rows"] == [[600_000, sum(kept) - 600]]
    assert costs["groups in batches"]["rows"] == costs["all groups"]["rows"]


def test_tasks_that_share_a_bucket_write_ranges_of_the_key(costs: Any) -> None:
    """One of them would leave the other core without work; what they write needs no merge."""
    assert costs["rows of parts"]["rows"] == [[6000, sum(range(3000, 9000)), 3000]]
    (one, _), (other, _) = costs["files of parts"]["rows"]
    assert one + other == 6000
    assert min(one, other) > 1500
    assert " raw and 0 merge splits" in costs["scan of parts"]["rows"][0][0]


@pytest.mark.parametrize("name", ["delete some", "update some"])
def test_rows_that_keep_their_keys_are_written_where_they_are_read(costs: Any, name: str) -> None:
    """Each task has keys of its own: nothing is shuffled to a bucket's one writer."""
    assert (costs[name]["jobs"], costs[name]["shuffled"]) == (1, 0)
    rows = [-1 if i % 1000 == 0 else -2 if i % 100 == 8 else i for i in range(600_000)]
    kept = [v for i, v in enumerate(rows) if i % 100 != 7 and not (i % 100 == 9 and i < 1000)]
    assert costs["some changed"]["rows"] == [[len(kept), sum(kept), 6000]]


@pytest.mark.parametrize(
    ("query", "count", "sum_of_keys", "writers", "shuffled"),
    [
        ("condition", 6500, sum(range(2500, 9000)), 2, 6500),
        ("few left", 4, 6, 1, 4),
        ("join", 9000, sum(range(9000)), 2, 9000),
        # Each group once from the aggregation, which is not done again for the bounds.
        ("groups", 4000, sum(range(4000)), 2, 2 * 4000),
        ("random", 9000, sum(range(9000)), 1, 2 * 9000),
    ],
)
def test_any_query_may_have_several_writers_of_a_bucket(
    costs: Any, query: str, count: int, sum_of_keys: int, writers: int, shuffled: int
) -> None:
    """Where they pay: bounds come from a sample, for which nothing is shuffled again."""
    assert costs[f"rows of {query}"]["rows"] == [[count, sum_of_keys]]
    files = [rows for (rows,) in costs[f"files of {query}"]["rows"]]
    assert (len(files), sum(files)) == (writers, count)
    assert min(files) >= count // (2 * writers)
    assert costs[f"fill {query}"]["shuffled"] == shuffled
