"""Goal: executors that are processes of their own write, merge and compact, as on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


def test_write_read_and_compact(tmp_path: Path) -> None:
    """Two executors do each kind of work; the rows are those that arithmetic says."""
    conf = arguments({**SMALL, "spark.executor.memory": "900m"})
    with StockShell(tmp_path, "--master", "local-cluster[2,1,1024]", *conf) as shell:
        shell.ok("SELECT 1")
        shell.ok(
            "CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')"
        )
        shell.ok("INSERT INTO t SELECT id, 0 FROM range(200000)")
        shell.ok("INSERT INTO t SELECT id * 5, 1 FROM range(40000)")
        shell.ok("UPDATE t SET v = 2 WHERE id % 10 = 0")
        counted = [("0", "160000"), ("1", "20000"), ("2", "20000")]
        assert shell.run("SELECT v, count(*) FROM t GROUP BY v").sorted() == counted
        # Each executor counts what it merged before: no file is opened, none need be there.
        assert shell.ok("SELECT count(*) FROM t") == (("200000",),)
        folder = tmp_path / "spark-warehouse" / "default.db" / "t"
        buckets = [(folder / f"bucket-{i}", folder / f"away-{i}") for i in range(2)]
        for here, away in buckets:
            here.rename(away)
        assert shell.ok("SELECT count(*) FROM t") == (("200000",),)
        for here, away in buckets:
            away.rename(here)
        before, after, *_ = shell.ok("ALTER TABLE t COMPACT")[0]
        assert (before, after) == ("6", "2")
        assert shell.run("SELECT v, count(*) FROM t GROUP BY v").sorted() == counted
        shell.ok("CREATE TABLE bag AS SELECT v FROM t")
        shell.ok("DELETE FROM bag WHERE v = 0")
        assert shell.ok("SELECT count(*), sum(v) FROM bag") == (("40000", "60000"),)
