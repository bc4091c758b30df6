"""What a statement costs, in counted things: requests to the planner, and Spark jobs.

Times differ from machine to machine; these counts do not, and a statement that needs one more
round trip or one more job is slower everywhere.
"""

from __future__ import annotations

import json
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
requests = spark._jvm.org.apache.spark.sql.tablestore.PlannerProcess.requests()
costs = {}
for name, sql in json.loads(sys.argv[1]):
    requests.clear()
    spark.sparkContext.setJobGroup(name, name)
    spark.sql(sql).collect()
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(name))
    costs[name] = {"jobs": jobs, **{key: int(requests[key]) for key in requests}}
print("costs:" + json.dumps(costs))
"""

STATEMENTS = [
    ("create", "CREATE TABLE k (id BIGINT, v INT, PRIMARY KEY (id) NOT ENFORCED)"),
    ("insert values", "INSERT INTO k VALUES (1, 10), (2, 20)"),
    ("insert one row", "INSERT INTO k SELECT 3 AS id, 30 AS v"),
    ("select", "SELECT id, v FROM k"),
    ("update", "UPDATE k SET v = v + 1 WHERE id = 2"),
    ("compact", "ALTER TABLE k COMPACT"),
    ("count", "SELECT count(*), max(v) FROM k"),
]


@pytest.fixture(scope="module")
def costs(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Requests by name, and jobs, of each of `STATEMENTS`."""
    folder: Path = tmp_path_factory.mktemp("costs")
    command = [sys.executable, "-c", PROGRAM, json.dumps(STATEMENTS)]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    (line,) = (x for x in ended.stdout.splitlines() if x.startswith("costs:"))
    return json.loads(line.removeprefix("costs:"))


@pytest.mark.parametrize("name", ["insert values", "insert one row"])
def test_rows_that_are_known_need_no_job(costs: Any, name: str) -> None:
    """The statement is parsed, its table looked up, its rows written: no Spark job."""
    assert costs[name] == {"jobs": 0, "parse": 1, "load_table": 1, "write": 1}


def test_select_is_one_plan(costs: Any) -> None:
    """Spark resolves the table and looks again just before it runs; the scan is planned once."""
    cost = dict(costs["select"])
    assert cost.pop("jobs") == 1
    assert cost == {"load_relation": 1, "load_table": 1, "plan_scan": 1}


def test_update_plans_one_scan_and_one_write(costs: Any) -> None:
    """One job reads and writes (its shuffle included)."""
    cost = dict(costs["update"])
    assert cost.pop("jobs") <= 2
    # Spark may look again whether the table has changed since it was resolved.
    assert cost.pop("load_table") <= 2
    assert cost == {"plan_scan": 1, "write": 1}


def test_count_and_max_after_compaction_read_nothing(costs: Any) -> None:
    """The manifests answer, so no scan is planned; Spark's one job is over that one row."""
    cost = dict(costs["count"])
    assert cost.pop("jobs") <= 1
    assert cost == {"load_relation": 1, "load_table": 1, "exact_aggregates": 1}


def test_compaction_of_little_is_done_by_the_planner(costs: Any) -> None:
    """A Spark job would cost more than the compaction."""
    assert costs["compact"] == {"jobs": 0, "parse": 1, "run_statement": 1}
