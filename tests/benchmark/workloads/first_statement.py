"""The first statement of a fresh `spark-sql`, beside one that knows no managed tables."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tests.benchmark.bench import Bench
from tests.benchmark.measurements import LIMIT, OURS

_WORK: Final = "first statement of a fresh spark-sql"
_ROWS: Final = 1000
# Without it plain Spark would also start Hive's metastore, which takes it some seconds.
_PLAIN_CONF: Final = "spark.sql.catalogImplementation in-memory\n"


@dataclass(slots=True)
class FirstStatement:
    """A query of a small table, from the start of the shell to its end."""

    bench: Bench

    def run(self) -> None:
        """All of it."""
        self.bench.say(_WORK)
        self.bench.measured.limit(_WORK, "plain Spark reads a Parquet file")
        folder = self.bench.folder / "first-statement"
        conf = folder / "plain-spark"
        conf.mkdir(parents=True)
        (conf / "spark-defaults.conf").write_text(_PLAIN_CONF)
        plain = folder / "rows"
        self.bench.spark.range(_ROWS).coalesce(1).write.parquet(str(plain))
        _shell(folder, f"CREATE TABLE known AS SELECT * FROM parquet.`{plain}`")
        query, expected = "SELECT sum(id) FROM {}", sum(range(_ROWS))

        def ask(table: str, conf: Path | None) -> None:
            assert _shell(folder, query.format(table), conf) == str(expected)

        runs = {LIMIT: partial(ask, f"parquet.`{plain}`", conf), OURS: partial(ask, "known", None)}
        self.bench.repeat(_WORK, runs)


def _shell(folder: Path, statement: str, conf: Path | None = None) -> str:
    """What a new shell prints; its configuration is that in Spark's own folder, or `conf`."""
    environment = {**os.environ, **({} if conf is None else {"SPARK_CONF_DIR": str(conf)})}
    ran = subprocess.run(
        [Path(sys.executable).parent / "spark-sql", "--master", "local[2]", "-e", statement],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip()
