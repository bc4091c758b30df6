"""Every bit of a data file that Spark reads itself, turned over: answers are right, or errors.

The file is small, and has all that large ones have: pages with and without dictionary, NULLs,
statistics, the guard of its footer. Files that are merged, and those of other formats, are read
by the library's own reader, for which `damaged-data` turns over all bits without Spark.
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
from tests.integration.flip_campaign import every_bit

_BYTES_MAX: Final = 2_000
"""The file has fewer."""
_ROWS: Final = 40
_QUERIES: Final = (
    "SELECT * FROM {} ORDER BY k",
    "SELECT count(*), max(v), min(d) FROM {} WHERE k BETWEEN 7 AND 30 AND v IS NOT NULL",
)


@lru_cache(maxsize=1)
def _warehouse() -> Path:
    """Return a warehouse with the table `small`; it ends with the process."""
    folder = Path(tempfile.mkdtemp(prefix="campaign-bits-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    session = session_with_warehouse("bits", folder)
    session.sql("CREATE TABLE small (k BIGINT, v INT, s STRING, d DECIMAL(12, 2))")
    session.sql(
        "INSERT INTO small SELECT id, nullif(hash(id) % 7, 0), 'x' || id % 5, id / 4 "
        f"FROM range(0, {_ROWS}, 1, 1)"
    )
    return folder


def run_case(case: Case) -> Counts:
    """Turn over the bits of one byte, one at a time, and ask each time."""
    folder = _warehouse()
    session = session_with_warehouse("bits", folder)
    # Every other round is of Spark's reader that takes row by row.
    is_vectorized = case.number // _BYTES_MAX % 2 == 0
    session.conf.set("spark.sql.parquet.enableVectorizedReader", str(is_vectorized))
    outcome = every_bit(session, folder, "small", _QUERIES, byte=case.number % _BYTES_MAX)
    if outcome.wrong:
        raise AssertionError("\n".join(outcome.wrong))
    counts = Counter({"bits": outcome.counts.total() // len(_QUERIES)})
    for (_, said), count in outcome.counts.items():
        counts[f"answers {said}"] += count
    return counts


SPARK_EVERY_BIT: Final = Technique(
    name="spark-every-bit",
    goal="each bit of a small data file: Spark's answer is right, or an error that names the file",
    suite_cases=1,
    release_cases=2 * _BYTES_MAX,
    run_case=run_case,
    needs_spark=True,
)
