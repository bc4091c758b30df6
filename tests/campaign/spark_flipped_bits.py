"""Single bits turned in data files of each format, read by Spark and merged by Python workers.

The loop is that of tests/integration/test_flipped_bits.py, which is the suite's part of it.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Final

from tests.campaign.spark_program import session_with_warehouse
from tests.campaign.technique import Case, Counts, Technique
from tests.integration.flip_campaign import campaign

_FLIPS: Final = 10
_KEY: Final = ", PRIMARY KEY (k) NOT ENFORCED"
_TABLES: Final = {
    "raw": ("", "parquet"),
    "merged": (_KEY, "parquet"),
    "raw_orc": ("", "orc"),
    "merged_orc": (_KEY, "orc"),
    "raw_avro": ("", "avro"),
    "merged_avro": (_KEY, "avro"),
}
_ROWS: Final = 2_000
_QUERIES: Final = (
    "SELECT count(*), sum(v), sum(crc32(s)), sum(crc32(w)), sum(d) FROM {}",
    "SELECT v, s, w, d FROM {} WHERE k = 1711",
    "SELECT count(*), sum(k) FROM {} WHERE s = 'x42'",
    "SELECT count(*), min(v), max(d) FROM {} WHERE v IS NOT NULL AND k BETWEEN 100 AND 700",
)


@lru_cache(maxsize=1)
def _warehouse() -> Path:
    """Return a warehouse with a table of each kind; it ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-flips-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = session_with_warehouse("flips", folder)
    for name, (key, form) in _TABLES.items():
        session.sql(
            f"CREATE TABLE {name} (k BIGINT, v INT, s STRING, w STRING, d DECIMAL(12, 2){key}) "
            f"WITH ('file.format' = '{form}')"
        )
        # The second run hides a part of the first.
        for end in (_ROWS, _ROWS // 4) if key else (_ROWS,):
            session.sql(
                f"INSERT INTO {name} SELECT id, nullif(hash(id), 0), 'x' || id % 97, "
                f"sha1(string(id)), id / 4 FROM range({end})"
            )
    return folder


def run_case(case: Case) -> Counts:
    """Turn bits of one table, one at a time, and ask each time."""
    folder = _warehouse()
    table = [*_TABLES][case.number % len(_TABLES)]
    session = session_with_warehouse("flips", folder)
    session.conf.set("spark.sql.parquet.enableVectorizedReader", str(case.random().random() < 0.7))
    outcome = campaign(session, folder, table, _QUERIES, count=_FLIPS, seed=case.seed)
    if outcome.wrong:
        raise AssertionError("\n".join(outcome.wrong))
    counts = Counter({"bits": _FLIPS})
    for (_, said), count in outcome.counts.items():
        counts[f"answers {said}"] += count
    return counts


SPARK_FLIPPED_BITS: Final = Technique(
    name="spark-flipped-bits",
    goal="a bit turned in a data file: every answer is right, or an error that names the file",
    suite_cases=0,
    release_cases=20_000,
    run_case=run_case,
    needs_spark=True,
)
