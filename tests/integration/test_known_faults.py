"""Goal: views do not have the faults that other engines' incremental views have had.

Each case says what the fault was. Its rows are worked out by hand; beside them, each refresh has
written the difference and no more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from table_store import open_table
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import location_of, spark_session

pytestmark = pytest.mark.spark

Rows: TypeAlias = list[tuple[Any, ...]]

A = "INSERT INTO a VALUES "
B = "INSERT INTO b VALUES "


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A view over the tables a, with the key id, and b, without.

    Attributes:
        before: statements before the view is made.
        query: the view's.
        epochs: statements, and the rows of the view after them and a REFRESH.
        columns: of the view, as its definition has them, if not those of the query.
    """

    before: tuple[str, ...]
    query: str
    epochs: tuple[tuple[tuple[str, ...], Rows], ...]
    columns: str = ""


CASES = {
    "a row deleted from all sides of a join of three stayed": Case(
        before=(A + "(1, 1, 0), (2, 2, 0)", B + "(1, 10), (2, 20)"),
        query="SELECT a.id, b.w, c.w AS x FROM a JOIN b ON a.k = b.k JOIN b AS c ON b.k = c.k",
        epochs=((("DELETE FROM a WHERE k = 1", "DELETE FROM b WHERE k = 1"), [(2, 20, 20)]),),
    ),
    "rows of one key that came on both sides at once counted twice or never": Case(
        before=(A + "(1, 1, 0)", B + "(1, 10)"),
        query="SELECT a.id, b.w FROM a JOIN b ON a.k = b.k",
        epochs=(((A + "(3, 1, 0)", B + "(1, 11)"), [(1, 10), (1, 11), (3, 10), (3, 11)]),),
    ),
    "changes of two branches of one table were merged by key": Case(
        before=(B + "(1, 10), (2, 20)",),
        query="SELECT n.k, n, s FROM (SELECT k, count(*) AS n FROM b GROUP BY k) AS n "
        "JOIN (SELECT k, sum(w) AS s FROM b GROUP BY k) AS s ON n.k = s.k",
        epochs=(
            ((B + "(1, 5)",), [(1, 2, 15), (2, 1, 20)]),
            (("UPDATE b SET k = 2 WHERE w = 5",), [(1, 1, 10), (2, 2, 25)]),
        ),
    ),
    "an update of the join's key with another value lost one of them": Case(
        before=(A + "(1, 1, 7), (2, 2, 8)", B + "(1, 10), (2, 20)"),
        query="SELECT a.id, a.v, b.w FROM a JOIN b ON a.k = b.k",
        epochs=((("UPDATE a SET k = 2, v = 9 WHERE id = 1",), [(1, 9, 20), (2, 8, 20)]),),
    ),
    "an update of the group with the summed value went to one group only": Case(
        before=(A + "(1, 1, 7), (2, 2, 8)",),
        query="SELECT k, sum(v) AS s FROM a GROUP BY k",
        epochs=((("UPDATE a SET k = 2, v = 9 WHERE id = 1",), [(2, 17)]),),
    ),
    "a group whose key became NULL, or was, did not change": Case(
        before=(A + "(1, 1, 7), (2, 1, 8), (3, NULL, 9)",),
        query="SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM a GROUP BY k",
        epochs=(
            (("UPDATE a SET k = NULL WHERE id = 1",), [(1, 1, 8, 8), (None, 2, 16, 9)]),
            (("UPDATE a SET k = 1 WHERE id = 3",), [(1, 2, 17, 9), (None, 1, 7, 7)]),
        ),
    ),
    "rows padded with NULL did not enter their group": Case(
        before=(A + "(1, 1, 0), (2, 2, 0)", B + "(1, 10), (2, 20)"),
        query="SELECT b.w, count(*) AS n FROM a LEFT JOIN b ON a.k = b.k GROUP BY b.w",
        epochs=(
            (("DELETE FROM b WHERE k = 1",), [(20, 1), (None, 1)]),
            (("DELETE FROM b",), [(None, 2)]),
            ((B + "(2, 20)",), [(20, 1), (None, 1)]),
        ),
    ),
    "a sum without matches was 0, and its group stayed when its row had gone": Case(
        before=(A + "(1, 1, 0), (2, 2, 0)", B + "(1, 10), (2, 20)"),
        query="SELECT a.id, sum(b.w) AS s, count(b.w) AS n FROM a LEFT JOIN b ON a.k = b.k "
        "GROUP BY a.id",
        epochs=(
            (("DELETE FROM b WHERE k = 1",), [(1, None, 0), (2, 20, 1)]),
            (("DELETE FROM a WHERE id = 1",), [(2, 20, 1)]),
        ),
    ),
    "groups without rows stayed, or those whose sum is 0 disappeared": Case(
        before=(B + "(1, 10), (2, 20), (2, 5)",),
        query="SELECT k, sum(w) AS s FROM b GROUP BY k",
        epochs=(
            (("DELETE FROM b WHERE k = 1", "UPDATE b SET w = -5 WHERE w = 20"), [(2, 0)]),
            (("DELETE FROM b",), []),
        ),
    ),
    "a CASE that asks for NULL inside of a sum was taken for the column": Case(
        before=(B + "(1, 10), (1, 20), (1, NULL)",),
        query="SELECT k, sum(CASE WHEN w IS NULL THEN 1 ELSE w END) AS s FROM b GROUP BY k",
        epochs=(
            (("UPDATE b SET w = NULL WHERE w = 10",), [(1, 22)]),
            (("DELETE FROM b WHERE w IS NULL",), [(1, 20)]),
        ),
    ),
    "rows of a view below had another identity in its changes": Case(
        before=(
            A + "(1, 1, 0), (2, 2, 5)",
            "CREATE MATERIALIZED VIEW low AS SELECT -double(v) AS d, v / 3BD AS c FROM a",
        ),
        query="SELECT d, CAST(c AS DECIMAL(9, 3)) AS c FROM low",
        epochs=(
            (("UPDATE a SET v = 1 WHERE v = 0",), [(-1.0, "0.333"), (-5.0, "1.667")]),
            (("DELETE FROM a WHERE v = 1",), [(-5.0, "1.667")]),
        ),
    ),
    "EXCEPT below a projection lost how often a row is there": Case(
        before=(A + "(1, 1, 0), (2, 1, 0), (3, 3, 0)", B + "(1, 0)"),
        query="SELECT k % 2 AS k FROM (SELECT k FROM a EXCEPT ALL SELECT k FROM b)",
        epochs=(
            ((B + "(3, 0)",), [(1,)]),
            (("DELETE FROM b",), [(1,), (1,), (1,)]),
        ),
    ),
    "EXCEPT went by the difference of the counts": Case(
        before=(A + "(1, 1, 0), (2, 1, 0), (3, 3, 0)",),
        query="SELECT k FROM a EXCEPT SELECT k FROM b",
        epochs=(
            ((B + "(1, 0)",), [(3,)]),
            (("DELETE FROM b", "DELETE FROM a WHERE id = 1"), [(1,), (3,)]),
        ),
    ),
    "a row was there a negative number of times": Case(
        before=(A + "(1, 1, 0)", B + "(1, 0), (1, 0), (1, 0)"),
        query="SELECT k FROM a EXCEPT ALL SELECT k FROM b",
        epochs=(
            (("DELETE FROM a",), []),
            ((A + "(1, 1, 0), (2, 1, 0), (3, 1, 0), (4, 1, 0)",), [(1,)]),
            (("DELETE FROM b",), [(1,)] * 4),
        ),
    ),
    "equal rows were taken for one": Case(
        before=(
            A + "(1, 1, 0), (2, 1, 0), (3, 1, 0)",
            "CREATE MATERIALIZED VIEW low AS SELECT k FROM a",
        ),
        query="SELECT k FROM low",
        epochs=(
            (("DELETE FROM a WHERE id = 2",), [(1,), (1,)]),
            ((A + "(4, 1, 0), (5, 1, 0)",), [(1,)] * 4),
        ),
    ),
    "a row deleted and inserted again in one epoch was lost or doubled": Case(
        before=(A + "(1, 1, 7), (2, 1, 8)",),
        query="SELECT k, v FROM a",
        epochs=(
            (("DELETE FROM a WHERE id = 1", A + "(1, 1, 7)"), [(1, 7), (1, 8)]),
            (("DELETE FROM a WHERE id = 1", A + "(1, 1, 9)"), [(1, 9), (1, 8)]),
        ),
    ),
    "a new row was written before the old one of its key was deleted": Case(
        before=(A + "(1, 0, 1), (2, 0, 2)",),
        query="SELECT coalesce(v, 0) AS v, id FROM a",
        columns="(v, id, PRIMARY KEY (v) NOT ENFORCED)",
        epochs=(
            (("UPDATE a SET v = 3 - v",), [(2, 1), (1, 2)]),
            (("UPDATE a SET v = v + 1",), [(3, 1), (2, 2)]),
        ),
    ),
    "a row padded with NULL stayed when its match came, and did not come back": Case(
        before=(A + "(1, 1, 0), (2, 2, 0)",),
        query="SELECT a.id, b.w FROM a LEFT JOIN b ON a.k = b.k AND b.w BETWEEN a.v AND a.v + 10",
        epochs=(
            ((B + "(1, 5), (2, 50)",), [(1, 5), (2, None)]),
            ((B + "(1, 6)", "DELETE FROM b WHERE w = 5"), [(1, 6), (2, None)]),
            (("DELETE FROM b",), [(1, None), (2, None)]),
        ),
    ),
    "rows whose key is NULL were not found on the sides of a full join": Case(
        before=(A + "(1, NULL, 0), (2, 2, 0)", B + "(NULL, 10), (2, 20)"),
        query="SELECT a.id, b.w FROM a FULL JOIN b ON a.k = b.k",
        epochs=(
            (("DELETE FROM b WHERE k IS NULL",), [(1, None), (2, 20)]),
            (("UPDATE a SET k = NULL WHERE id = 2",), [(1, None), (2, None), (None, 20)]),
            (("UPDATE a SET k = 2 WHERE id = 1",), [(1, 20), (2, None)]),
        ),
    ),
    "aggregates of nothing but NULL were not NULL": Case(
        before=(B + "(1, 10), (1, NULL)",),
        query="SELECT k, sum(w) AS s, min(w) AS l, bool_and(w > 0) AS a, bit_or(w) AS o, avg(w) "
        "AS m, sum(w) FILTER (WHERE w > 5) AS f FROM b GROUP BY k",
        epochs=(
            (("DELETE FROM b WHERE w = 10",), [(1, *[None] * 6)]),
            ((B + "(1, 3)",), [(1, 3, 3, True, 3, 3.0, None)]),
        ),
    ),
    "an update that brings no row from before left the old one in outer, semi and anti joins": Case(
        before=(A + "(1, 1, 0), (2, 2, 0)", B + "(1, 10), (3, 30)"),
        query="SELECT 'outer' AS t, a.id, b.w FROM a FULL JOIN b ON a.k = b.k UNION ALL "
        "SELECT 'semi', 0, w FROM b WHERE k IN (SELECT k FROM a) UNION ALL "
        "SELECT 'anti', id, 0 FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE b.k = a.k)",
        epochs=(
            (
                (A + "(1, 3, 0), (2, 1, 0)",),
                [("outer", 1, 30), ("outer", 2, 10), ("semi", 0, 10), ("semi", 0, 30)],
            ),
            (
                (A + "(1, 4, 0)",),
                [
                    ("outer", 1, None),
                    ("outer", 2, 10),
                    ("outer", None, 30),
                    ("semi", 0, 10),
                    ("anti", 1, 0),
                ],
            ),
        ),
    ),
    "an aggregate without groups had no row over nothing, or two": Case(
        before=(),
        query="SELECT count(*) AS n, sum(w) AS s, max(w) AS m FROM b",
        epochs=(
            ((B + "(1, 10)",), [(1, 10, 10)]),
            (("DELETE FROM b",), [(0, None, None)]),
        ),
    ),
    "an average was corrected from the old average": Case(
        before=(B + "(1, 1), (1, 2)",),
        query="SELECT k, avg(w) AS m, avg(CAST(w AS DECIMAL(5, 1))) AS d FROM b GROUP BY k "
        "HAVING avg(w) > 1",
        epochs=(
            ((B + "(1, 2)",), [(1, 5 / 3, "1.66667")]),
            ((B + "(1, 2), (1, NULL)", "DELETE FROM b WHERE w = 1"), [(1, 2.0, "2.00000")]),
        ),
    ),
    "an aggregate over NOT IN took back rows that were not there": Case(
        before=(A + "(1, 1, 0), (2, 1, 0), (3, 2, 0), (4, NULL, 0)", B + "(2, 0)"),
        query="SELECT k, count(*) AS n FROM a WHERE k NOT IN (SELECT k FROM b) GROUP BY k",
        epochs=(
            ((B + "(NULL, 0)",), []),
            ((B + "(1, 0)",), []),
            (("DELETE FROM b WHERE k IS NULL OR k = 1",), [(1, 2)]),
            (("DELETE FROM b",), [(1, 2), (2, 1), (None, 1)]),
        ),
    ),
}


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("faults"), OWN_NAME) as session:
        yield session


@pytest.fixture
def tables(spark: SparkSession) -> Iterator[None]:
    """The tables a and b of a namespace of its own."""
    spark.sql("CREATE NAMESPACE made")
    spark.sql("USE made")
    spark.sql("CREATE TABLE a (id INT NOT NULL, k INT, v INT, PRIMARY KEY (id))")
    spark.sql("CREATE TABLE b (k INT, w INT)")
    yield
    spark.sql("USE default")
    spark.sql("DROP NAMESPACE made CASCADE")


def stored(spark: SparkSession, table: str) -> pa.Table:
    """The rows of a table, read without Spark."""
    return open_table(location_of(spark, table)).storage.scan().to_arrow()


def bag(spark: SparkSession, table: str) -> Counter[tuple[object, ...]]:
    """The rows of a table; decimals as texts, floats too, which tells -0.0 from 0.0."""
    rows = stored(spark, table).to_pylist()
    return Counter(tuple(_shown(value) for value in row.values()) for row in rows)


def _shown(value: object) -> object:
    return str(value) if isinstance(value, (float, Decimal)) else value


@pytest.mark.parametrize("fault", CASES)
@pytest.mark.usefixtures("tables")
def test_faults_of_others(spark: SparkSession, fault: str) -> None:
    case = CASES[fault]
    for statement in case.before:
        spark.sql(statement)
    header = f"m {case.columns} REFRESH POLICY INCREMENTAL"
    spark.sql(f"CREATE MATERIALIZED VIEW {header} AS {case.query}")
    before = bag(spark, "m")
    for statements, expected in case.epochs:
        for statement in statements:
            spark.sql(statement)
        done = spark.sql("REFRESH MATERIALIZED VIEW m").collect()[-1]
        after = bag(spark, "m")
        assert after == Counter(tuple(_shown(value) for value in row) for row in expected)
        assert done.rule == "incremental"
        changed = (after - before) + (before - after)
        # An update by key is one row that is written, else a deletion and an insertion.
        written = len({row[0] for row in changed}) if case.columns else changed.total()
        assert done.rows_changed == written
        before = after


@pytest.mark.usefixtures("tables")
def test_the_first_of_equal_rows(spark: SparkSession) -> None:
    """Whichever is taken: an engine took back another one than it had given."""
    spark.sql(A + "(1, 1, 5), (2, 1, 5), (3, 2, 5)")
    spark.sql(
        "CREATE MATERIALIZED VIEW m REFRESH POLICY INCREMENTAL AS SELECT k, id FROM (SELECT *, "
        "row_number() OVER (PARTITION BY k ORDER BY v) AS place FROM a) WHERE place = 1"
    )
    for statement in (A + "(0, 1, 5), (4, 1, 5)", "DELETE FROM a WHERE id IN (SELECT id FROM m)"):
        spark.sql(statement)
        (done,) = spark.sql("REFRESH MATERIALIZED VIEW m").collect()
        assert done.rule == "incremental"
        first = bag(spark, "m")
        equal = {tuple(row) for row in spark.sql("SELECT k, id FROM a").collect()}
        assert set(first) <= equal
        assert Counter(k for k, _ in first.elements()) == Counter({k for k, _ in equal})


@pytest.mark.usefixtures("tables")
def test_the_time_is_one_for_all_rows(spark: SparkSession) -> None:
    """Rows of the first load and of changes were given times of their own."""
    spark.sql(A + "(1, 1, 0), (2, 2, 0)")
    spark.sql("CREATE MATERIALIZED VIEW m AS SELECT id, current_timestamp() AS at FROM a")
    for statement in (A + "(3, 1, 0)", "DELETE FROM a WHERE id = 1"):
        spark.sql(statement)
        (done,) = spark.sql("REFRESH MATERIALIZED VIEW m").collect()
        assert done.rule == "full"
        rows = stored(spark, "m")
        assert rows.num_rows == spark.table("a").count()
        assert len(set(rows["at"].to_pylist())) == 1
