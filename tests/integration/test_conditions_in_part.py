"""Goal: a condition that bounds decide only in part rules out no row that it is true for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

DECIDED = ["id = 4", "id IN (1, 9)", "v IS NULL", "p = 'y'"]
UNDECIDED = ["coalesce(v, 20) > 50", "v % 2 = 1", "length(p) = 3"]
FORMS = [
    "{} OR {}",
    "NOT ({} AND {})",
    "NOT (v < 50 OR ({} AND {}))",
    "(v = 71 AND {}) OR (id > 3 AND {})",
]
COLUMNS = "(id INT, p STRING, v INT{})"
TABLES = {
    "bag": COLUMNS.format(""),
    "keyed": COLUMNS.format(", PRIMARY KEY (id) NOT ENFORCED"),
    "parted": f"{COLUMNS.format('')} PARTITIONED BY (p)",
}
FILES = [
    "(10, 'y', 33), (9, 'x', 37), (4, 'x', 53)",
    "(1, 'z z', 35), (0, 'y', 71)",
    "(3, NULL, 54), (5, 'z z', NULL)",
]


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Tables with the same rows in three files or more; `plain` is Spark's own, read whole."""
    with spark_session(tmp_path_factory.mktemp("conditions"), OWN_NAME) as session:
        session.sql(f"CREATE TABLE plain {TABLES['bag']} USING parquet")
        for name, columns in TABLES.items():
            session.sql(f"CREATE TABLE {name} {columns}")
        for name, rows in product(("plain", *TABLES), FILES):
            session.sql(f"INSERT INTO {name} VALUES {rows}")
        yield session


def test_part(spark: SparkSession) -> None:
    """An OR or a NOT of a part that bounds decide and one that they do not."""
    plain = spark.table("plain").cache()
    wrong = {}
    for form, decided, undecided in product(FORMS, DECIDED, UNDECIDED):
        condition = form.format(decided, undecided)
        theirs = {row.id for row in plain.where(condition).collect()}
        for name in TABLES:
            ours = {row.id for row in spark.table(name).where(condition).collect()}
            if ours != theirs:
                wrong[name, condition] = ours ^ theirs
    assert not wrong
