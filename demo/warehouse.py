"""The demo of a streaming warehouse: a busy database, its tables in layers, a topic, a dashboard.

Started by `make demo-warehouse`; works in the folder `.demo-warehouse`, or the one given with
`--folder`, which it empties first. `warehouse.sql` makes the tables and their streaming INSERTs,
`warehouse_queries.sql` has what is asked meanwhile and the correction of a day. At the end every
table is compared with a query over the database's own rows; ends with an error where one differs.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import socket
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from demo.dashboard import Dashboard
from demo.followed_topic import FollowedTopic
from demo.programs import Programs
from demo.shop import CLOSED_DAY, DAYS, opening
from demo.sql_file import statements
from demo.warehouse_truth import QUERIES, differences
from servers.kafka_broker import KafkaBroker, free_port
from servers.mariadb_server import MariadbServer

HERE = Path(__file__).resolve().parent
_READY_S = 180
_TOPIC = "dws_cate_day"
_DATABASE = "retail"
_PASSWORD = "123456"
# Both are the database's query over what the statement reads, so they agree at each barrier.
_BALANCE = f"""SELECT
    (SELECT sum(trans_amount) FROM dwd_orders_cate WHERE dt = '{DAYS[-1]}') AS detail,
    (SELECT sum(cate_gmv) FROM dws_cate_day WHERE dt = '{DAYS[-1]}') AS sales"""
_DELAY = "SELECT delay_ms FROM sys.table_delay WHERE table_name = 'dws_cate_day'"


def title(text: str) -> None:
    """Say what comes next."""
    print(f"\n-- {text}", flush=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much there is to see."""

    folder: Path
    orders: int
    transactions_per_second: int
    reads: int


class Demo:
    """The servers, and the story that they are part of."""

    def __init__(self, size: Size) -> None:
        self.size = size
        self.programs = Programs(size.folder)
        self.warehouse = size.folder / "warehouse"
        queries = statements((HERE / "warehouse_queries.sql").read_text(encoding="utf-8"))
        self._share, _, self._correction = queries

    def run(self) -> bool:
        """Tell it; whether all tables are right at the end."""
        title("Servers: MariaDB, Kafka, a Thrift server, a job runner and a MetaService")
        with ExitStack() as ends:
            ends.callback(self.programs.close)
            self._start_spark()
            self.database = MariadbServer(self.size.folder / "mariadb", _DATABASE)
            ends.callback(self.database.stop)
            self.broker = KafkaBroker(self.size.folder / "broker")
            self.broker.start()
            ends.callback(self.broker.kill)
            return self._run_with_servers()

    def _start_spark(self) -> None:
        port = free_port()
        session = (
            *("--master", "local[2]", "--driver-memory", "1g"),
            *("--conf", f"spark.sql.warehouse.dir={self.warehouse}"),
            *("--conf", "spark.sql.shuffle.partitions=2", "--conf", "spark.ui.enabled=false"),
        )
        self._runner = ("table-store", "jobs", *session)
        self._thrift_port = port
        self._thrift = self.programs.start(
            "thriftserver", "table-store", "thriftserver", "--port", str(port), *session
        )
        self.programs.start("runner", *self._runner)

    def _run_with_servers(self) -> bool:
        self._open_shop()
        _wait(self._listens, "the Thrift server does not answer")
        self.dashboard = Dashboard(self._thrift_port)
        self._submit()
        self.topic = FollowedTopic(self.broker.bootstrap, _TOPIC)
        self._wait_until_hosted()
        title(f"Orders of {DAYS[-1]} and their share of their category's sales, each second")
        print(self._share)
        self.dashboard.run("SET 'table-store.consistency' = 'RepeatableRead'")
        self._watch()
        self._correct()
        title("The job runner is killed (kill -9): what is read stays as of one barrier")
        self.programs.end("runner", signal.SIGKILL)
        self._watch(stands_still=True)
        title("Another one goes on where it was")
        self.programs.start("runner", *self._runner)
        self._wait_until_hosted()
        self._watch()
        return self._compare()

    def _listens(self) -> bool:
        if self._thrift.poll() is not None:
            raise SystemExit(f"the Thrift server has ended: {self.programs.log('thriftserver')}")
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._thrift_port)) == 0

    def _open_shop(self) -> None:
        reader = "retail@'%'"
        self.database.run(
            *opening(self.size.orders),
            f"CREATE USER {reader} IDENTIFIED BY '{_PASSWORD}'",
            f"GRANT SELECT ON {_DATABASE}.* TO {reader}",
            f"GRANT REPLICATION SLAVE, BINLOG MONITOR ON *.* TO {reader}",
        )
        self.broker.create_topic(_TOPIC)
        place = str(self.size.folder / "mariadb" / "s")
        rate = str(self.size.transactions_per_second)
        self.programs.start("shop", "python", str(HERE / "shop.py"), place, _DATABASE, rate)
        print(f"{self.size.orders:,} orders are there; the shop makes {rate} transactions a second")

    def _submit(self) -> None:
        title("warehouse.sql: sources, tables in layers, and six streaming INSERTs")
        self.dashboard.run("SET 'table-store.jobs' = 'runner'")
        script = (HERE / "warehouse.sql").read_text(encoding="utf-8")
        script = script.replace("'3306'", f"'{self.database.port}'")
        for statement in statements(script.replace("localhost:9092", self.broker.bootstrap)):
            print(statement.splitlines()[0])
            self.dashboard.run(statement)
        service = ("meta-service", "--warehouse", str(self.warehouse), "--port", "0")
        self.programs.start("meta-service", "table-store", *service)

    def _wait_until_hosted(self) -> None:
        begin = time.monotonic()
        _wait(
            lambda: {row[3] for row in self.dashboard.run("SHOW JOBS")} == {"RUNNING"},
            "no job runs",
        )
        self.dashboard.run("CALL sys.flush()")
        print(f"the jobs run, and have the database's rows, after {time.monotonic() - begin:.0f} s")
        print(self.programs.log("meta-service").read_text().strip(), "(while this demo runs)")

    def _watch(self, *, stands_still: bool = False) -> None:
        seen = set()
        for _ in range(self.size.reads):
            begin = time.monotonic()
            best = self.dashboard.run(self._share)
            took_ms = (time.monotonic() - begin) * 1000
            ((detail, sales),) = self.dashboard.run(_BALANCE)
            ((delay_ms,),) = self.dashboard.run(_DELAY)
            if detail != sales or not best:
                raise SystemExit(f"RepeatableRead read two moments: {detail} and {sales}")
            print(
                f"{time.strftime('%H:%M:%S')}  sales {sales:,}  largest share {best[0][0]} "
                f"{best[0][2]:.4f}  asked in {took_ms:.0f} ms  {_seconds(delay_ms)} behind  "
                f"{self.topic.records:,} records in the topic",
                flush=True,
            )
            seen.add(sales)
            time.sleep(max(0.0, begin + 1 - time.monotonic()))
        if stands_still and len(seen) > 1:
            raise SystemExit(f"RepeatableRead went on without a runner: {seen}")

    def _correct(self) -> None:
        title(f"The sales of {CLOSED_DAY} are written again without refunds, while the jobs run")
        print(self._correction)
        day = f"SELECT gmv FROM dws_day WHERE dt = '{CLOSED_DAY}'"
        ((before,),) = self.dashboard.run(day)
        self.dashboard.run(self._correction)
        begin = time.monotonic()
        _wait(lambda: self.dashboard.run(day) != [(before,)], "dws_day does not follow")
        ((after,),) = self.dashboard.run(day)
        seconds = time.monotonic() - begin
        print(f"dws_day follows after {seconds:.0f} s: {before:,} before, {after:,} now")
        self._watch()

    def _compare(self) -> bool:
        title("The shop closes, and each table is compared with a query over the database's rows")
        code = self.programs.end("shop")
        said = self.programs.log("shop").read_text().strip()
        if code:
            raise SystemExit(f"the shop has failed:\n{said}")
        print(f"the shop: {said}")
        self.dashboard.run("CALL sys.flush()")
        self.dashboard.run(
            "RESET 'table-store.consistency'"
        )  # there may be no later barrier of all
        self.topic.stop()
        fields = ("dt", "parent_cate_id", "cate_gmv")
        found = {name: self.dashboard.run(f"SELECT * FROM {name}") for name in QUERIES}
        told = [tuple(value[field] for field in fields) for value in self.topic.values()]
        wrong = 0
        for name, table, rows in (
            *((name, name, rows) for name, rows in found.items()),
            (f"the topic, {self.topic.records:,} records", "dws_cate_day", told),
        ):
            lines = differences(self.database, table, rows)
            wrong += bool(lines)
            print(f"{name}: {len(rows):,} rows, {'DIFFERENT' if lines else 'equal'}")
            for line in lines:
                print(f"   {line}")
        return not wrong


def _seconds(milliseconds: int | None) -> str:
    return "not known how far" if milliseconds is None else f"{milliseconds / 1000:.1f} s"


def _wait(is_true: Callable[[], bool], otherwise: str) -> None:
    end = time.monotonic() + _READY_S
    while not is_true():
        if time.monotonic() > end:
            raise SystemExit(otherwise)
        time.sleep(1)


def main() -> int:
    """Run the demo; exit code 1 when a table is wrong."""
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends what it has started
    parser = argparse.ArgumentParser(prog="demo.warehouse", description="A streaming warehouse.")
    parser.add_argument("--folder", type=Path, default=HERE.parent / ".demo-warehouse")
    parser.add_argument(
        "--orders", type=int, default=20_000, help="that are there at the beginning"
    )
    parser.add_argument("--transactions-per-second", type=int, default=20)
    parser.add_argument("--reads", type=int, default=8, help="of the dashboard in each part")
    options = parser.parse_args()
    shutil.rmtree(options.folder, ignore_errors=True)
    options.folder.mkdir(parents=True)
    size = Size(**{**vars(options), "folder": options.folder.resolve()})
    try:
        is_right = Demo(size).run()
    except RuntimeError as error:
        raise SystemExit(str(error)) from error
    print(f"\nDone in {time.monotonic() - begin:.0f} s.")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
