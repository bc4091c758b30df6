"""Goal: a refresh sees every change of a value, also where Spark takes both values for one.

Oracle: the query's own rows, as Python sees them: texts by their characters, variants by bytes;
and as JSON, which has the entries of a map in their order.
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
    "STRING COLLATE UTF8_BINARY_RTRIM": ["'a'", "'a '"],
    "MAP<STRING, INT>": [
        "map('a', 0, 'b', 2)",
        "map('b', 2, 'a', 0)",
        "map('b', 2, 'a', NULL)",
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


def rows_of(spark: SparkSession, relation: str) -> list[str]:
    found = spark.sql(f"SELECT *, to_json(struct(*)) AS json FROM {relation}").collect()
    return sorted(map(repr, found))


@pytest.mark.parametrize("kind", VALUES)
def test_another_value_that_spark_calls_equal(spark: SparkSession, kind: str) -> None:
    """Each row has the value in another place, so that no other one shows the change."""
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
            assert rows_of(spark, view) == rows_of(spark, "t"), (view, value)
    again = spark.sql("REFRESH MATERIALIZED VIEW whole FULL").collect()
    assert [(row.rule, row.rows_changed) for row in again] == [("full", 0)]


def test_one_of_two_orders_goes(spark: SparkSession) -> None:
    """Of two rows whose maps have the same entries, the view loses the one that its table loses."""
    spark.sql("CREATE TABLE ordered (m MAP<STRING, INT>)")
    spark.sql("INSERT INTO ordered VALUES (map('a', 1, 'b', 2)), (map('b', 2, 'a', 1))")
    spark.sql("CREATE MATERIALIZED VIEW same AS SELECT * FROM ordered")
    spark.sql("DELETE FROM ordered WHERE map_keys(m)[0] = 'a'")
    done = spark.sql("REFRESH MATERIALIZED VIEW same").collect()
    assert [(row.rule, row.rows_changed) for row in done] == [("incremental", 1)]
    assert rows_of(spark, "same") == rows_of(spark, "ordered")
