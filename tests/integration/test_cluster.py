"""Goal: executors on other hosts do all work; one that dies or is slow costs no row."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.standalone_cluster import StandaloneCluster
from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

_SETTINGS = {
    **SMALL,
    "spark.executor.memory": "900m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    # A second attempt of a task that takes long where half of the stage's tasks have ended.
    "spark.speculation": "true",
    "spark.speculation.quantile": "0.5",
    "spark.speculation.minTaskRuntime": "1s",
    # One task after the other may lose its executor.
    "spark.task.maxFailures": "8",
}
_LARGE = "PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2', 'write-only' = 'true', "
# Not compressed, these are more bytes than the planner would compact by itself.
_PAD = "repeat(string(id), 30)"
_SUMS = "SELECT count(*), count(DISTINCT id), sum(id), sum(v), sum(length(pad)) FROM {}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    """Two workers, whose executors belong to the module's shell."""
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def shell(
    tmp_path_factory: pytest.TempPathFactory, cluster: StandaloneCluster
) -> Iterator[StockShell]:
    """A stock shell whose executors are on the cluster."""
    folder = tmp_path_factory.mktemp("shell")
    with StockShell(folder, "--master", cluster.master, *arguments(_SETTINGS)) as running:
        running.ok("SELECT 1")
        yield running


def test_write_read_and_compact(shell: StockShell) -> None:
    """Two executors do each kind of work; the rows are those that arithmetic says."""
    shell.ok("CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')")
    shell.ok("INSERT INTO t SELECT id, 0 FROM range(200000)")
    shell.ok("INSERT INTO t SELECT id * 5, 1 FROM range(40000)")
    shell.ok("UPDATE t SET v = 2 WHERE id % 10 = 0")
    counted = [("0", "160000"), ("1", "20000"), ("2", "20000")]
    assert shell.run("SELECT v, count(*) FROM t GROUP BY v").sorted() == counted
    # Each executor counts what it merged before: no file is opened, none need be there.
    assert shell.ok("SELECT count(*) FROM t") == (("200000",),)
    folder = _folder(shell, "t")
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


def test_executor_dies_while_it_writes(shell: StockShell, cluster: StandaloneCluster) -> None:
    """Data files that the lost attempt left belong to nothing; the next attempt's do."""
    shell.ok(
        "CREATE TABLE staged (id INT, v INT, pad STRING) "
        "WITH ('write-buffer-size' = '64 kb', 'target-file-size' = '64 kb')"
    )
    lost = _executors(cluster)
    rows = f"SELECT id, 1 AS v, {_PAD} AS pad FROM range(0, 60000, 1, 2)"
    _losing(shell, f"INSERT INTO staged {_dying(shell, 'write', rows)}")
    assert _executors(cluster) != lost
    expected = shell.ok(_SUMS.format(f"({rows})"))
    assert shell.ok(_SUMS.format("staged")) == expected
    files = shell.ok("SELECT count(*) FROM `staged$files`")[0][0]
    assert len(_data_files(shell, "staged")) > int(files)


def test_executor_dies_in_each_statement(shell: StockShell, cluster: StandaloneCluster) -> None:
    """What it had done of a write, a merge read or a compaction is done by others."""
    shell.ok(
        f"CREATE TABLE lossy (id INT, v INT, pad STRING, {_LARGE} 'file.compression' = 'none')"
    )
    first = f"SELECT id, 0 AS v, {_PAD} AS pad FROM range(150000)"
    shell.ok(f"INSERT INTO lossy {first}")
    with _lost_midway(shell, cluster, "lossy"):
        shell.start(f"INSERT INTO lossy SELECT id * 2, 1, {_PAD} FROM range(75000)")
    expected = shell.ok(
        f"SELECT count(*), count(*), sum(id), sum(if(id % 2 = 0, 1, 0)), "
        f"sum(if(id % 2 = 0, length(repeat(string(id DIV 2), 30)), length(pad))) FROM ({first})"
    )
    lost = _executors(cluster)
    merged = _dying(shell, "read", "SELECT id, v, pad FROM lossy")
    assert _losing(shell, _SUMS.format(f"({merged})")) == expected
    assert _executors(cluster) != lost
    assert shell.ok(_SUMS.format("lossy")) == expected
    with _lost_midway(shell, cluster, "lossy"):
        shell.start("ALTER TABLE lossy COMPACT")
    assert shell.ok("SELECT count(*), min(level) > 0 FROM `lossy$files`") == (("2", "true"),)
    assert shell.ok(_SUMS.format("lossy")) == expected
    assert shell.ok("SELECT count(*) FROM lossy") == (("150000",),)


def test_second_attempts_of_slow_tasks(shell: StockShell, cluster: StandaloneCluster) -> None:
    """One of the two attempts counts, also where the other one goes on."""
    shell.ok(f"CREATE TABLE slow (id INT, v INT, pad STRING, {_LARGE} 'file.compression' = 'none')")
    merged = (
        f"MERGE INTO slow USING (SELECT id * 2 AS id, {_PAD} AS pad FROM range(100000)) AS s "
        "ON slow.id = s.id WHEN MATCHED THEN UPDATE SET v = v + 1, pad = s.pad "
        "WHEN NOT MATCHED THEN INSERT (id, v, pad) VALUES (s.id, 5, s.pad)"
    )
    with cluster.paused_python(0):
        shell.ok(f"INSERT INTO slow SELECT id, 0, {_PAD} FROM range(150000)")
    with cluster.paused_python(1):
        shell.ok(merged)
    expected = (("175000", "175000", str(sum(range(150000)) + 2 * sum(range(75000, 100000)))),)
    sums = "SELECT count(*), count(DISTINCT id), sum(id) FROM slow"
    changed = (("0", "75000"), ("1", "75000"), ("5", "25000"))
    with cluster.paused_python(0):
        assert shell.ok(sums) == expected
    assert shell.run("SELECT v, count(*) FROM slow GROUP BY v").sorted() == list(changed)
    with cluster.paused_python(1):
        shell.ok("ALTER TABLE slow COMPACT")
    assert shell.ok(sums) == expected
    assert shell.run("SELECT v, count(*) FROM slow GROUP BY v").sorted() == list(changed)


def test_bad_lines_are_put_away_wherever_they_are_met(
    shell: StockShell, cluster: StandaloneCluster, tmp_path: Path
) -> None:
    """Each is there once: tasks of two executors commit them, and of one that dies."""
    for number in range(8):
        good = [f'{{"id": {number * 10_000 + at}}}' for at in range(10_000)]
        for line in (7, 5_000, 9_000):
            good.insert(line, f"bad {number} {line}")
        (tmp_path / f"{number}.json").write_text("\n".join(good) + "\n")
    shell.ok(
        f"CREATE TABLE lines (id INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', "
        "'format' = 'json', 'dead-letter.table' = 'default.bad_lines')"
    )
    lost = _executors(cluster)
    read = _dying(shell, "lines", "SELECT id, 0 AS v, '' AS pad FROM lines")
    sums = _losing(shell, f"SELECT count(*), sum(id) FROM ({read})")
    assert sums == (("80000", str(sum(range(80_000)))),)
    assert _executors(cluster) != lost
    put_away = shell.ok("SELECT string(value), line, split_part(path, '/', -1) FROM bad_lines")
    wanted = {
        (f"bad {number} {line}", str(line + 1), f"{number}.json")
        for number in range(8)
        for line in (7, 5_000, 9_000)
    }
    assert len(put_away) == len(wanted)
    assert set(put_away) == wanted


@contextmanager
def _lost_midway(shell: StockShell, cluster: StandaloneCluster, table: str) -> Iterator[None]:
    """Kill an executor whose task has begun, once another task of the statement has written."""
    known = _data_files(shell, table)
    with cluster.paused_python(0):
        yield
        until = time.monotonic() + 60
        while _data_files(shell, table) == known and time.monotonic() < until:
            time.sleep(0.05)
        assert _data_files(shell, table) != known
        cluster.kill_executor(0)
    _losing(shell, "SELECT 'the statement has ended'")


def _losing(shell: StockShell, sql: str) -> tuple[tuple[str, ...], ...]:
    """The rows of a statement that succeeds, whatever Spark says about executors that it lost."""
    answer = shell.run(sql)
    about_losses = re.compile(
        "Lost (an )?executor|Failed to send RPC|ClosedChannelException|^\tat io.netty."
    )
    lines = answer.error.splitlines()
    assert all(about_losses.search(line) for line in lines), answer.error
    return answer.rows


def _dying(shell: StockShell, name: str, rows: str) -> str:
    """A query of these rows; the first executor that passes on 20,000 of them dies then."""
    script = shell.folder / "die.sh"
    script.write_text(
        'if mkdir "$1" 2>/dev/null; then head -n 20000; sleep 1; kill -9 $PPID; fi\nexec cat\n'
    )
    return (
        f"SELECT TRANSFORM(id, v, pad) USING 'sh {script} {shell.folder / name}' "
        f"AS (id INT, v INT, pad STRING) FROM ({rows})"
    )


def _executors(cluster: StandaloneCluster) -> tuple[int, ...]:
    return tuple(cluster.executor(worker) for worker in range(2))


def _folder(shell: StockShell, table: str) -> Path:
    return shell.folder / "spark-warehouse" / "default.db" / table


def _data_files(shell: StockShell, table: str) -> set[Path]:
    return set(_folder(shell, table).glob("**/data-*.parquet"))
