"""What the log costs a bulk insert: none, on files, in Kafka."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, Dataset
from tests.benchmark.measurements import LIMIT, OURS

_SOURCE = "log_source"
_ROWS_MAX = 1_000_000
_ROUNDS_MAX = 3


@dataclass(slots=True)
class LoggedInserts:
    """Inserts the same rows into tables that differ in their log alone."""

    bench: Bench
    brokers: str

    def run(self) -> None:
        """One unmeasured round, for whoever comes first would pay for the others; then all."""
        self.bench.say("bulk insert with a log")
        data = Dataset(self.bench.folder / "logged", min(_ROWS_MAX, self.bench.rows))
        self.bench.view(_SOURCE, data.write_base())
        for log in ("files", "Kafka"):
            self.bench.measured.limit(_work(log), "ours without change tracking")
        for number in range(min(self.bench.repeats, _ROUNDS_MAX) + 1):
            self._round(number, is_measured=number > 0)

    def _round(self, number: int, *, is_measured: bool) -> None:
        sql, measured = self.bench.spark.sql, self.bench.measured
        logs = {
            "none": "'change-tracking' = 'false'",
            "files": "'log.retention' = '1 d'",
            "Kafka": f"'log.kafka.bootstrap.servers' = '{self.brokers}', 'bucket' = '2'",
        }
        tables = {log: f"log_{log}_{number}" for log in logs}
        for log, options in logs.items():
            definition = f"({LAYOUT.definition}) TBLPROPERTIES ({options})"
            sql(f"CREATE TABLE {tables[log]} {definition}")
            insert = partial(sql, f"INSERT INTO {tables[log]} SELECT * FROM {_SOURCE}")
            if not is_measured:
                insert()
            elif log == "none":
                started = time.perf_counter()
                insert()
                taken = time.perf_counter() - started
                for other in ("files", "Kafka"):
                    measured.add(_work(other), LIMIT, taken)
            else:
                measured.measure(_work(log), OURS, insert)
        self.bench.check([_SOURCE, *tables.values()], LAYOUT.checksum)
        for table in tables.values():
            sql(f"DROP TABLE {table}")


def _work(log: str) -> str:
    return f"bulk insert, log in {log}"
