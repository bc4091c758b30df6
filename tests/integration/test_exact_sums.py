"""Goal: SUM and AVG of floats in a materialized view are the exact values, correctly rounded.

Oracle: `math.fsum`, and fractions where it overflows on its way. Each group is a random case of its
own; which rows come first, and in which file and task they are, is random as well.
"""

from __future__ import annotations

import math
import random
import struct
from collections import defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import pytest
from pyspark.sql import SparkSession

from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session

pytestmark = pytest.mark.spark

CASES = 600
MAX = 1.7976931348623157e308
NOT_FINITE = (math.inf, -math.inf, math.nan)


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("sums"), OWN_NAME) as session:
        yield session


def any_double(randomly: random.Random) -> float:
    """All bit patterns are as likely; none of them is infinite or NaN."""
    while True:
        (value,) = struct.unpack("d", randomly.randbytes(8))
        if math.isfinite(value):
            return float(value)


def random_case(randomly: random.Random) -> list[float | None]:
    """Values of one group."""
    count = randomly.choice((0, 1, 2, 3, 10, 200))
    width = randomly.choice((1, 60, 500, 2000))
    low = randomly.randrange(-1074, 1024 - min(width, 1000))
    values: list[float | None] = []
    for _ in range(count):
        kind = randomly.randrange(12)
        if kind == 0:
            values.append(randomly.choice((None, 0.0, -0.0, 5e-324, MAX, -MAX, 2.0**970)))
        elif kind == 1:
            values.append(any_double(randomly))
        elif kind == 2 and values and values[-1] is not None:
            # Cancels out, or nearly: what is left are the digits that others lose.
            values.append(-math.nextafter(values[-1], randomly.choice((0.0, values[-1]))))
        else:
            exponent = min(low + randomly.randrange(width), 1023)
            values.append(math.ldexp(randomly.uniform(-1, 1), exponent))
    if randomly.randrange(10) == 0:
        values += randomly.choices(NOT_FINITE, k=randomly.randrange(1, 3))
    return values or [None]


def near_ties(randomly: random.Random) -> list[float | None]:
    """Values whose sum is half way between two doubles, or hardly off."""
    base = math.ldexp(1 + randomly.random(), randomly.randrange(-900, 900))
    half = math.ulp(base) / 2
    off = randomly.choice((0.0, math.ulp(half), -math.ulp(half), half * 2.0**-100, -5e-324))
    sign = randomly.choice((1, -1))
    return [sign * base, sign * half, sign * off]


def exact_sum(values: Sequence[float]) -> float | None:
    if not values:
        return None
    if not all(map(math.isfinite, values)):
        # No order matters to these, and fsum refuses both infinities at once.
        return sum(value for value in values if not math.isfinite(value))
    try:
        return math.fsum(values)
    except OverflowError:
        total = sum(map(Fraction, values), Fraction())
        try:
            return float(total)
        except OverflowError:
            return math.inf if total > 0 else -math.inf


def exact_average(values: Sequence[float]) -> float | None:
    total = exact_sum(values)
    return None if total is None else total / len(values)


def bits(value: float | None) -> object:
    """Tells 0.0 from -0.0; NaN is NaN."""
    return None if value is None else repr(value)


def as_float(value: float) -> float:
    """The nearest FLOAT."""
    try:
        (nearest,) = struct.unpack("f", struct.pack("f", value))
    except OverflowError:
        return math.copysign(math.inf, value)
    return float(nearest)


def expected(rows: Sequence[tuple[int, float | None]]) -> list[object]:
    """What `QUERY` answers of a group; each row has its id and its value."""
    values = [value for _, value in rows if value is not None]
    floats = [as_float(value) for value in values]
    different = {bits(value + 0.0): value for value in values}
    sums = (
        exact_sum(values),
        exact_average(values),
        exact_sum(floats),
        exact_average(floats),
        exact_sum(list(different.values())),
        exact_sum([value for i, value in rows if i % 2 == 0 and value is not None]),
        exact_sum(values),
        exact_average([-value for value in values]),
        exact_average(values),
    )
    return [*map(bits, sums), len(rows)]


QUERY = (
    "SELECT g, sum(x) AS a, avg(x) AS b, sum(y) AS c, avg(y) AS d, sum(DISTINCT x) AS e, "
    "sum(x) FILTER (WHERE id % 2 = 0) AS f, try_sum(x) AS h, try_avg(-x) AS i, "
    "regr_avgx(1, x) AS j, count(DISTINCT id) AS n FROM {rows} GROUP BY g"
)


@pytest.mark.parametrize("seed", [0, 1])
def test_sums_do_not_depend_on_the_order(spark: SparkSession, seed: int) -> None:
    randomly = random.Random(seed)
    rows = [
        (group, value)
        for group in range(CASES)
        for value in (near_ties if group % 4 == 0 else random_case)(randomly)
    ]
    randomly.shuffle(rows)
    groups: dict[int, list[tuple[int, float | None]]] = defaultdict(list)
    for i, (group, value) in enumerate(rows):
        groups[group].append((i, value))
    table = f"values_{seed}"
    spark.sql(f"CREATE TABLE {table} (id INT, g INT, x DOUBLE, y FLOAT)")
    numbered = [(i, group, value, value) for i, (group, value) in enumerate(rows)]
    frame = spark.createDataFrame(numbered, "id INT, g INT, x DOUBLE, y DOUBLE")
    frame = frame.withColumn("y", frame.y.cast("float"))
    for part in range(3):
        frame.where(f"id % 3 = {part}").repartition(1 + part).writeTo(table).append()
    for view, order in ("by_file", table), ("by_size", f"(SELECT * FROM {table} ORDER BY x, -id)"):
        name = f"{view}_{seed}"
        spark.sql(f"CREATE MATERIALIZED VIEW {name} AS {QUERY.format(rows=order)}")
        found = {row.g: [*map(bits, row[1:10]), row.n] for row in spark.table(name).collect()}
        assert sorted(found) == list(range(CASES))
        for group, its_rows in groups.items():
            assert found[group] == expected(its_rows), (group, its_rows)
    values = [[v for _, v in its_rows if v is not None] for its_rows in groups.values()]
    plain = [bits(sum(own)) for own in values if own]
    assert plain != [bits(exact_sum(own)) for own in values if own], "plain sums would pass as well"


def test_sums_of_sums_and_of_nothing(spark: SparkSession) -> None:
    spark.sql("CREATE TABLE few (g INT, x DOUBLE)")
    spark.sql("INSERT INTO few VALUES (1, 1e100), (1, 1D), (1, -1e100), (2, -0.0D), (3, NULL)")
    spark.sql(
        "CREATE MATERIALIZED VIEW all_of_few AS "
        "WITH per_group AS (SELECT g, sum(x) AS s, sum(sum(x)) OVER () AS w FROM few GROUP BY g) "
        "SELECT g, s, w, (SELECT sum(x) FROM few WHERE x > 0) AS u, "
        "(SELECT sum(x) FROM few f WHERE f.g > p.g) AS c FROM per_group p"
    )
    found = {tuple(map(bits, row)) for row in spark.table("all_of_few").collect()}
    assert found == {
        ("1", "1.0", "1.0", "1e+100", "0.0"),
        ("2", "0.0", "1.0", "1e+100", None),
        ("3", None, "1.0", "1e+100", None),
    }
    spark.sql("CREATE MATERIALIZED VIEW none AS SELECT sum(x) s, avg(x) a FROM few WHERE g > 9")
    assert [tuple(row) for row in spark.table("none").collect()] == [(None, None)]
    # Spark's own sum of -0.0 is this one, too.
    (own,) = spark.sql("SELECT sum(x) AS s FROM few WHERE g = 2").collect()
    assert bits(own.s) == "0.0"


def test_increments_find_the_rows_that_they_replace(spark: SparkSession) -> None:
    """An old row that is computed again is the one in the view, bit by bit."""
    randomly = random.Random(5)
    spark.sql("CREATE TABLE moved (id INT, g INT, x DOUBLE, PRIMARY KEY (id) NOT ENFORCED)")
    held: dict[int, tuple[int, float]] = {}
    query = "SELECT g, sum(x) AS s, avg(x) AS a, count(*) AS n FROM moved GROUP BY g"
    spark.sql(f"CREATE MATERIALIZED VIEW kept AS {query}")
    for epoch in range(6):
        new = [
            (randomly.randrange(200), randomly.randrange(5), any_double(randomly))
            for _ in range(60)
        ]
        new = [
            (i, group, math.copysign(1e16 ** randomly.random(), value)) for i, group, value in new
        ]
        new = list({row[0]: row for row in new}.values())
        spark.createDataFrame(new, "id INT, g INT, x DOUBLE").repartition(3).writeTo(
            "moved"
        ).append()
        held |= {i: (group, value) for i, group, value in new}
        spark.sql(f"DELETE FROM moved WHERE id % 7 = {epoch}")
        held = {i: row for i, row in held.items() if i % 7 != epoch}
        (done,) = spark.sql("REFRESH MATERIALIZED VIEW kept").collect()
        assert done.rule == "incremental", done
        groups: dict[int, list[float]] = defaultdict(list)
        for group, value in held.values():
            groups[group].append(value)
        assert {row.g: (row.s, row.a, row.n) for row in spark.table("kept").collect()} == {
            group: (exact_sum(values), exact_average(values), len(values))
            for group, values in groups.items()
        }
        assert spark.table("kept").count() == len(groups)
