"""The JVM's paths and the workers, compiled and started once, unmeasured."""

from __future__ import annotations

from tests.benchmark.bench import Bench
from tests.benchmark.dataset import LAYOUT, Dataset
from tests.benchmark.plain_parquet import PlainParquet

_SOURCE = "warm_source"
_ROWS_MAX = 100_000


def warm_up(bench: Bench) -> None:
    """Insert, upsert and read a little with every engine."""
    bench.say("warming up")
    data = Dataset(bench.folder / "warm", min(_ROWS_MAX, bench.rows), seed=1)
    bench.view(_SOURCE, data.write_base())
    PlainParquet(bench.spark, bench.folder / "warm", LAYOUT.buckets).write_sorted(_SOURCE, "plain")
    batch = data.write_batch()
    for engine in bench.engines("warm", LAYOUT):
        engine.create()
        bench.view(_SOURCE, data.sources[0])
        engine.insert(_SOURCE)
        bench.view(_SOURCE, batch)
        engine.upsert(_SOURCE)
        bench.collect(LAYOUT.read, engine.table)
        engine.drop()
