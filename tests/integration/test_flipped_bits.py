"""Goal: no single bit of a data file can turn without an error, where it would change an answer.

Spark's own Parquet reader and the Python workers read the files, with conditions by which they
skip rows. `TABLE_STORE_FLIPS` says how many bits are turned in each kind of file,
`TABLE_STORE_FLIP_SEED` which ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.flip_campaign import Outcome, campaign, every_bit
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = [
    pytest.mark.spark,
    # pyspark's own sockets and its pandas warning.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning"),
]

FLIPS = int(os.environ.get("TABLE_STORE_FLIPS", "40"))
SEED = int(os.environ.get("TABLE_STORE_FLIP_SEED", "1"))
KEYED = ", PRIMARY KEY (k) NOT ENFORCED"
TABLES = {
    "raw": ("", "parquet", 20_000),
    # The larger one of its files is too large to be read as a whole and compared.
    "merged": (KEYED, "parquet", 60_000),
    "orc": ("", "orc", 2_000),
    "avro": (KEYED, "avro", 2_000),
}
# An error ends a Python worker, and the next query waits for another one.
SHARES = {"raw": 1, "merged": 2, "orc": 12, "avro": 12}
QUERIES = (
    "SELECT count(*), sum(v), sum(crc32(s)), sum(crc32(w)), sum(d) FROM {}",
    "SELECT v, s, w, d FROM {} WHERE k = 1711",
    "SELECT count(*), sum(k) FROM {} WHERE s = 'x42'",
)


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flips") / "spark-warehouse"


@pytest.fixture(scope="module")
def spark(warehouse: Path) -> Iterator[SparkSession]:
    settings = {**OWN_NAME, "spark.log.level": "OFF", "spark.default.parallelism": "1"}
    with unlogged_errors(), spark_session(warehouse.parent, settings) as session:
        for name, (key, form, count) in TABLES.items():
            session.sql(
                f"CREATE TABLE {name} (k BIGINT, v INT, s STRING, w STRING, d DECIMAL(12, 2){key}) "
                f"WITH ('file.format' = '{form}')"
            )
            # The second run hides a part of the first.
            for end in (count, count // 4) if key else (count,):
                session.sql(
                    f"INSERT INTO {name} SELECT id, hash(id), 'x' || id % 97, sha1(string(id)), "
                    f"id / 4 FROM range({end})"
                )
        yield session


def checked(outcome: Outcome) -> None:
    """Nothing was wrong, and the damage was where the queries look."""
    assert outcome.wrong == [], "\n".join(outcome.wrong)
    assert sum(n for (_, said), n in outcome.counts.items() if said == "refused"), outcome.counts


@pytest.mark.parametrize("table", TABLES)
def test_campaign(spark: SparkSession, warehouse: Path, table: str) -> None:
    """Bits of every part of a file."""
    count = FLIPS // SHARES[table]
    checked(campaign(spark, warehouse, table, QUERIES, count=count, seed=SEED))


@pytest.mark.parametrize("by_column", ["true", "false"])
def test_bounds(spark: SparkSession, warehouse: Path, by_column: str) -> None:
    """Of a footer, which says what is skipped, every bit counts: in each way Spark reads."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", by_column)
    outcome = campaign(
        spark, warehouse, "raw", QUERIES[1:2], count=FLIPS, seed=SEED, parts=frozenset({"footer"})
    )
    spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
    assert outcome.counts == {("footer", "refused"): FLIPS}, outcome.wrong


def test_dictionaries(spark: SparkSession, warehouse: Path) -> None:
    """A row group is not left out because its damaged dictionary has no such value."""
    spark.sql("CREATE TABLE words (k BIGINT, s STRING)")
    spark.sql("INSERT INTO words SELECT id, 'x' || id % 97 FROM range(2000)")
    parts = frozenset({"dictionary", "header"})
    query = "SELECT count(*), sum(k) FROM {} WHERE s = 'x42'"
    checked(campaign(spark, warehouse, "words", [query], count=2 * FLIPS, seed=SEED, parts=parts))


@pytest.mark.parametrize("by_column", ["true", "false"])
def test_page_headers(spark: SparkSession, warehouse: Path, by_column: str) -> None:
    """A header has no checksum: one of its sizes, if it is believed, makes all values the first."""
    table = f"headers_{by_column}"
    spark.sql(f"CREATE TABLE {table} (k BIGINT, s STRING)")
    spark.sql(f"INSERT INTO {table} SELECT id, 'x' || id % 5 FROM range(0, 40, 1, 1)")
    (file,) = (warehouse / "default.db" / table).rglob("data-*")
    group = pq.read_metadata(file).row_group(0)
    columns = [group.column(i) for i in range(group.num_columns)]
    (start,) = (c.data_page_offset for c in columns if c.path_in_schema == "k")
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", by_column)
    query = "SELECT * FROM {} ORDER BY k"
    for byte in range(start, start + 8):
        checked(every_bit(spark, warehouse, table, [query], byte=byte))
    spark.conf.unset("spark.sql.parquet.enableVectorizedReader")
