"""Goal: a refresh sees every change of a value, also where Spark takes both values for one.

Oracle: the query's own rows, as Python sees them: texts by their characters, variants by bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

TEXT = "STRING COLLATE UTF8_LCASE"
VALUES = {
    TEXT: ["'a'", "'A'"],
    "VARIANT": [
        "CAST(NULL AS VARIANT)",
        *(
            f"parse_json('{text}')"
            for text in ("null", "1", '"1"', "1.0", '["x", 1]', '["x", 1.0]')
        ),
    ],
}
PLACES = {
    "v": ("{}", "{}"),
    "l": ("ARRAY<{}>", "array({})"),
    "s": ("STRUCT<x: INT, y: {}>", "struct(1, {})"),
    "m": ("MAP<INT, ARRAY<{}>>", "map(1, array({}))"),
}
POLICIES = {
    "incremental": "REFRESH POLICY INCREMENTAL STRICT",
    "whole": "REFRESH POLICY FULL",
    "keyed": "(PRIMARY KEY (id) NOT ENFORCED) REFRESH POLICY FULL",
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("apart"), OWN_NAME) as session:
        yield session


@pytest.mark.parametrize("kind", VALUES)
def test_another_value_that_spark_calls_equal(spark: SparkSession, kind: str) -> None:
    """Each row has the value in another place, so that no other one shows the change."""

    def rows(relation: str) -> list[str]:
        return sorted(repr(row) for row in spark.table(relation).collect())

    spark.sql("DROP TABLE IF EXISTS t CASCADE")
    columns = ", ".join(f"{name} {of.format(kind)}" for name, (of, _) in PLACES.items())
    spark.sql(f"CREATE TABLE t (id INT, {columns})")
    for view, policy in POLICIES.items():
        spark.sql(f"CREATE MATERIALIZED VIEW {view} {policy} AS SELECT * FROM t")
    for value in VALUES[kind]:
        filled = [
            ", ".join(made.format(value) if at == row else "NULL" for at in PLACES)
            for row, (_, made) in PLACES.items()
        ]
        written = ", ".join(f"({number}, {values})" for number, values in enumerate(filled))
        spark.sql(f"INSERT OVERWRITE t VALUES {written}")
        for view in POLICIES:
            spark.sql(f"REFRESH MATERIALIZED VIEW {view}")
            assert rows(view) == rows("t"), (view, value)
    again = spark.sql("REFRESH MATERIALIZED VIEW whole FULL").collect()
    assert [(row.rule, row.rows_changed) for row in again] == [("full", 0)]
