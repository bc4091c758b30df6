"""Goal: the planner is one process of the JVM's: it ends with it, is replaced, and serves it alone.

Processes are killed −9 and the shell is asked to go on.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from table_store.catalog.planner.process.gateway import CHALLENGE_BYTES
from tests.integration.catalog_conf import SMALL, arguments
from tests.integration.spark_session import spark_session
from tests.integration.stock_shell import StockShell

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="finds processes through /proc"),
]

_WAIT_S = 30


def commands() -> dict[int, tuple[int, str]]:
    """Of every process: its parent and its command line."""
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                status = (folder / "stat").read_text().rpartition(")")[2].split()
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if status[0] != "Z":
                found[int(folder.name)] = (int(status[1]), line)
    return found


def descendants(root: int) -> dict[int, str]:
    """The command lines of all processes below one."""
    everything = commands()
    inside = {root}
    while True:
        more = {p for p, (parent, _) in everything.items() if parent in inside} - inside
        if not more:
            return {p: everything[p][1] for p in inside if p in everything}
        inside |= more


def planner_of(shell: StockShell) -> int:
    """The shell's planner."""
    (planner,) = [
        pid for pid, line in descendants(shell.process.pid).items() if "table_store.planner" in line
    ]
    return planner


def has_planner(shell: StockShell) -> bool:
    """Whether one runs, or is about to."""
    return any("table_store.planner" in line for line in descendants(shell.process.pid).values())


def eventually(condition: Callable[[], bool]) -> bool:
    """Whether it comes true within a while."""
    until = time.monotonic() + _WAIT_S
    while time.monotonic() < until:
        if condition():
            return True
        time.sleep(0.1)
    return condition()


LISTENER = """
from pathlib import Path

HERE = Path(__file__).parent


class Listener:
    def on_create_table(self, context):
        if context.identifier.name == "refused":
            raise ValueError("no room for refused")
        self._note("+", context)

    def on_drop_table(self, context):
        if (HERE / "keeps").exists():
            raise ValueError("it is still in use")
        self._note("-", context)

    def _note(self, sign, context):
        with (HERE / "heard").open("a") as notes:
            notes.write(f"{sign}{context.identifier.name}\\n")
"""


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside of the warehouse, in which the application may have tables."""
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture(scope="module")
def listening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installed distribution with a listener, which writes down what it heard."""
    folder = tmp_path_factory.mktemp("listening")
    (folder / "listening.py").write_text(LISTENER)
    about = folder / "listening-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: listening\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[table_store.listeners]\nl = listening:Listener\n")
    return folder


@pytest.fixture(scope="module")
def shell(
    tmp_path_factory: pytest.TempPathFactory, elsewhere: Path, listening: Path
) -> Iterator[StockShell]:
    roots = {"spark.sql.catalog.table_store.allowed-roots": str(elsewhere)}
    folder = tmp_path_factory.mktemp("planner")
    env = {"PYTHONPATH": str(listening)}
    with StockShell(folder, *arguments({**SMALL, **roots}), env=env) as running:
        running.ok("CREATE TABLE t (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
        running.ok("INSERT INTO t VALUES (1, 'a')")
        yield running


def test_killed_between_statements(shell: StockShell) -> None:
    """The next statement finds a new planner; nobody notices."""
    before = planner_of(shell)
    os.kill(before, signal.SIGKILL)
    assert shell.ok("SELECT * FROM t") == (("1", "a"),)
    os.kill(planner_of(shell), signal.SIGKILL)
    shell.ok("INSERT INTO t VALUES (2, 'b')")
    assert shell.run("SELECT * FROM t").sorted() == [("1", "a"), ("2", "b")]
    assert planner_of(shell) != before


@pytest.mark.parametrize("moment_s", [0.2, 1.0])
def test_killed_in_a_statement(shell: StockShell, moment_s: float) -> None:
    """The statement says what happened or succeeds; the table is as before or as after it."""
    shell.ok("CREATE OR REPLACE TABLE k (id BIGINT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    victim = planner_of(shell)
    killer = threading.Timer(moment_s, os.kill, (victim, signal.SIGKILL))
    killer.start()
    answer = shell.run("INSERT INTO k SELECT id, repeat('x', 10) FROM range(400000)")
    killer.join()
    count = int(shell.ok("SELECT count(*) FROM k")[0][0])
    if answer.error:
        assert "TABLE_STORE_PLANNER_LOST" in answer.error
        assert "SQLSTATE: 58000" in answer.error
        assert count in (0, 400000)
    else:
        assert count == 400000
    shell.ok("INSERT INTO k VALUES (-1, 'y')")
    assert shell.ok("SELECT count(*) FROM k WHERE id < 0") == (("1",),)


def test_answers_only_its_jvm(shell: StockShell) -> None:
    """Who does not show the token is answered with no more than a proof to know it."""
    planner = planner_of(shell)
    proofs = 0
    for port in listening_ports(planner):
        for begin in (b"", b"?" * CHALLENGE_BYTES):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as plain:
                answer = b""
                with suppress(ConnectionResetError, BrokenPipeError):
                    # py4j's first command is the token; "!yv" would be its welcome.
                    plain.sendall(begin + b"A\nwrong\n\nc\nt\nhandle\ne\n")
                    ended(plain)
                    while more := plain.recv(1000):
                        answer += more
            assert b"y" not in answer[CHALLENGE_BYTES:], answer
            proofs += len(answer) >= CHALLENGE_BYTES
    assert proofs == 1, "the other port is that of PySpark's accumulators"
    assert shell.ok("SELECT count(*) > 0 FROM t") == (("true",),)
    shown = (
        Path(f"/proc/{planner}/cmdline").read_bytes()
        + Path(f"/proc/{planner}/environ").read_bytes()
    )
    assert b"token" not in shown.lower()


def test_the_token_of_a_dead_planner_opens_nothing(shell: StockShell) -> None:
    """Whoever was shown it at a port that the planner had: its JVM stops listening."""
    planner = planner_of(shell)
    jvm = commands()[planner][0]
    before = ports_on_loopback(jvm)
    os.kill(planner, signal.SIGKILL)
    assert eventually(lambda: len(ports_on_loopback(jvm)) == len(before) - 1)
    assert shell.ok("SELECT count(*) > 0 FROM t") == (("true",),)
    assert len(ports_on_loopback(jvm)) == len(before)


def ended(connection: socket.socket) -> None:
    """Tell the other side that nothing more comes, unless it has hung up already."""
    try:
        connection.shutdown(socket.SHUT_WR)
    except OSError as hung_up:
        if hung_up.errno != errno.ENOTCONN:
            raise


def listening_ports(pid: int) -> list[int]:
    """The TCP ports at which a process listens; all of them on the loopback address."""
    everywhere = addresses(pid)
    assert everywhere, "the planner listens for its JVM"
    assert {address for address, _ in everywhere} <= _LOOPBACK
    return [port for _, port in everywhere]


def ports_on_loopback(pid: int) -> set[int]:
    """Those at which only this machine can reach a process."""
    return {port for address, port in addresses(pid) if address in _LOOPBACK}


_LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F"}


def addresses(pid: int) -> list[tuple[str, int]]:
    """The addresses and TCP ports at which a process listens."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):
            target = os.readlink(link)
            if target.startswith("socket:["):
                inodes.add(target[8:-1])
    found = []
    for name in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == "0A" and words[9] in inodes:
                address, _, port = words[1].rpartition(":")
                found.append((address, int(port, 16)))
    return found


def test_allowed_roots(shell: StockShell, elsewhere: Path, tmp_path: Path) -> None:
    """Tables lie where the application says; a session cannot allow itself more."""
    shell.ok(
        "CREATE TABLE far (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED) "
        f"WITH ('file.path' = '{elsewhere}/fast')"
    )
    place = elsewhere / "fast" / "default.db" / "far"
    assert (place / "schema").is_dir()
    for value in range(2):
        shell.ok(f"INSERT INTO far SELECT id, {value} FROM range(100)")
    assert shell.ok("ALTER TABLE far COMPACT")[0][:2] == ("2", "1")
    assert ("Location", str(place), "") in shell.ok("DESCRIBE EXTENDED far")
    assert shell.ok("SELECT sum(v) FROM far") == (("100",),)
    shell.ok(f"SET spark.sql.catalog.table_store.allowed-roots = {tmp_path}")
    refused = shell.run(f"CREATE TABLE out (id INT) WITH ('file.path' = '{tmp_path}')").error
    assert refused.startswith(f"[TABLE_STORE_PATH_NOT_ALLOWED] Path '{tmp_path}'")
    assert list(tmp_path.iterdir()) == []
    shell.ok("DROP TABLE far")
    assert not place.exists()
    place = elsewhere / "own"
    shell.ok(f"CREATE TABLE far LOCATION '{place}' AS SELECT id FROM range(9)")
    assert (place / "snapshot").is_dir()
    shell.ok("ALTER TABLE far ADD PRIMARY KEY (id) NOT ENFORCED")
    assert shell.ok("SELECT count(*), min(id) FROM far") == (("9", "0"),)
    assert any(folder.name.startswith("far") for folder in elsewhere.iterdir())
    for clause in (f"LOCATION '{place}/in'", f"OPTIONS (path '{place}')", f"LOCATION '{tmp_path}'"):
        refused = shell.run(f"CREATE TABLE out (id INT) {clause}").error
        assert refused.startswith("[TABLE_STORE_PATH_NOT_ALLOWED]"), clause
    shell.ok("DROP TABLE far")
    assert not place.exists()


def test_listeners(shell: StockShell, listening: Path) -> None:
    """An installed listener hears of CREATE and DROP; where it fails, all is as before."""
    shell.ok("CREATE TABLE heard (id INT)")
    shell.ok("INSERT INTO heard VALUES (1)")
    shell.ok("CREATE OR REPLACE TABLE heard AS SELECT 2 AS id")
    refused = shell.run("CREATE TABLE refused (id INT)").error
    assert refused.startswith("[TABLE_STORE_LISTENER_FAILED]")
    assert "no room for refused" in refused
    assert shell.ok("SHOW TABLES LIKE 'refused'") == ()
    assert not list(shell.folder.rglob("refused*"))
    (listening / "keeps").touch()
    kept = shell.run("DROP TABLE heard").error
    assert kept.startswith("[TABLE_STORE_LISTENER_FAILED]")
    assert shell.ok("SELECT * FROM heard") == (("2",),)
    (listening / "keeps").unlink()
    shell.ok("DROP TABLE heard")
    heard = [line for line in (listening / "heard").read_text().split() if "heard" in line]
    assert heard[:3] == ["+heard", "+heard", "-heard"]
    assert heard.count("-heard") - heard.count("+heard") == 0


def planners() -> set[int]:
    """The planners of this process's JVMs, a stock shell's included."""
    lines = descendants(os.getpid()).items()
    return {pid for pid, line in lines if "table_store.planner" in line}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_threads_that_asked_leave_nothing(tmp_path: Path) -> None:
    """A server's threads come and go; a job that the planner starts is that of the thread's group.

    `TABLE_STORE_THREADS` says how many ask.
    """
    threads = int(os.environ.get("TABLE_STORE_THREADS", "300"))
    others = planners()
    with spark_session(tmp_path, {}) as spark:
        spark.sql("CREATE TABLE t (id BIGINT)")
        (planner,) = planners() - others
        group_jobs: dict[int, int] = {}

        def ask(number: int) -> None:
            if number % 50 == 0:
                spark.sparkContext.setJobGroup(f"group {number}", "")
                spark.range(5).writeTo("t").append()
                tracker = spark.sparkContext.statusTracker()
                group_jobs[number] = len(tracker.getJobIdsForGroup(f"group {number}"))
            assert spark.table("t").columns == ["id"]

        ask(0)
        before = held(planner)
        for first in range(0, threads, 20):
            together = [
                threading.Thread(target=ask, args=(number,)) for number in range(first, first + 20)
            ]
            for thread in together:
                thread.start()
            for thread in together:
                thread.join()
        # As many as asked at once would be at most 20.
        assert eventually(
            lambda: all(now < then + 20 for now, then in zip(held(planner), before, strict=True))
        ), held(planner)
        assert len(group_jobs) == -(-threads // 50)
        assert min(group_jobs.values()) > 0, group_jobs


def held(pid: int) -> tuple[int, int]:
    """The threads and the sockets of a process."""
    links = [os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()]
    sockets = sum(link.startswith("socket:") for link in links)
    return len(list(Path(f"/proc/{pid}/task").iterdir())), sockets


def test_ends_with_its_jvm(tmp_path: Path) -> None:
    """A shell that is killed −9, or ends, takes its planner and its workers along."""
    for ending in ("killed", "closed"):
        shell = StockShell(tmp_path, *arguments(SMALL))
        # It starts beside Spark: a statement that needs it need not wait for all of that.
        shell.ok("SET without.planner = true")
        assert eventually(lambda begun=shell: has_planner(begun))  # type: ignore[misc]
        shell.ok("CREATE TABLE IF NOT EXISTS e (id INT)")
        shell.ok("INSERT INTO e VALUES (1)")
        below = descendants(shell.process.pid)
        assert planner_of(shell) in below
        jvms = [process for process, line in below.items() if "SparkSubmit" in line]
        if ending == "killed":
            for jvm in jvms:
                os.kill(jvm, signal.SIGKILL)
        shell.close()
        assert eventually(lambda ended=below: not ended.keys() & commands()), ending  # type: ignore[misc]
