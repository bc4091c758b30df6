"""Goal: without Spark, expressions and declared rules have the results that Spark gives them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from table_store import connect
from table_store.client.errors import (
    ExpressionFailedError,
    InvalidExpressionError,
    UnsupportedExpressionError,
)
from table_store.client.expressions.evaluation import evaluated
from table_store.client.expressions.expression import Column
from table_store.client.expressions.sql_reader import Names
from table_store.client.expressions.sql_text import read_expression
from table_store.client.filters import names_of
from table_store.client.table import Table
from table_store.client.warehouse import Warehouse
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.types import parse_type, to_arrow
from tests.campaign.spark_program import arrow_answer
from tests.fixtures.expression_grid import CHAR_COLUMNS, CHAR_ROWS, char_expressions, expressions
from tests.fixtures.expression_grid import COLUMNS as EDGES
from tests.fixtures.python_expressions import COLUMNS, RESULTS
from tests.integration.catalog_conf import OWN_NAME
from tests.integration.spark_session import spark_session
from tests.values.arrow_values import arrow_table, plain_rows
from tests.values.edges import edges
from tests.values.kinds import SCALARS, Array, Kind, Map, Struct, length_of, quoted
from tests.values.kinds import sql as sql_type

pytestmark = pytest.mark.spark

ROWS = pa.table(
    {name: pa.array(values, to_arrow(parse_type(kind))) for name, kind, values in COLUMNS}
)
RULES = """CREATE TABLE {} (
  id BIGINT, v VARCHAR(5), c CHAR(4), n INT DEFAULT 3 + 4, price DECIMAL(6,2) DEFAULT 1.5,
  x DOUBLE DEFAULT 2, f FLOAT DEFAULT 0.5, day DATE DEFAULT DATE '2020-02-29',
  at TIMESTAMP DEFAULT TIMESTAMP '2020-07-01 12:00:00', note STRING DEFAULT upper('none'),
  bytes BINARY DEFAULT X'1F', clock TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ '2020-07-01 12:00:00',
  twice BIGINT GENERATED ALWAYS AS (n * 2), net DECIMAL(12,4) GENERATED ALWAYS AS (price * 1.19),
  label STRING GENERATED ALWAYS AS (concat(v, '-', c)), year INT GENERATED ALWAYS AS (year(day)),
  hour DATE GENERATED ALWAYS AS (CAST(at AS DATE)), PRIMARY KEY (id) NOT ENFORCED)"""
ZONE = "America/New_York"
SAMPLE = 13
"""Every expression of so many is asked; with 1 all of them are, in some minutes."""


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    with spark_session(tmp_path_factory.mktemp("rules"), OWN_NAME) as session:
        session.conf.set("spark.sql.session.timeZone", ZONE)
        session.conf.set("spark.sql.timeType.enabled", "true")
        yield session


@pytest.fixture(scope="module")
def warehouse(spark: SparkSession) -> Warehouse:
    return connect(str(spark.conf.get("spark.sql.warehouse.dir")), time_zone=ZONE)


def test_every_result_is_spark_s(spark: SparkSession) -> None:
    """The rows are Spark's own; what each expression is there stands in the fixture."""
    fields = [(name, kind) for name, kind, _ in COLUMNS]
    struct = StructType.fromJson(
        {
            "fields": [
                {"name": name, "type": kind, "nullable": True, "metadata": {}}
                for name, kind in [*fields, ("_row", "long")]
            ]
        }
    )
    rows = ROWS.append_column("_row", pa.array([0, 1, 2]))
    frame = spark.createDataFrame(rows, struct)
    parts = [f"({sql}) AS `{number}`" for number, sql in enumerate(RESULTS)]
    found = frame.selectExpr("_row", *parts).toArrow().sort_by("_row")
    for number, (sql, results) in enumerate(RESULTS.items()):
        assert repr(found[str(number)].to_pylist()) == repr(results), sql


def test_edges_of_every_function(spark: SparkSession) -> None:
    """Whatever Python evaluates for a row, Spark evaluates to the same value."""
    kinds = {name: parse_type(kind) for name, kind, _ in EDGES}
    rows = pa.RecordBatch.from_pydict(
        {name: pa.array(values, to_arrow(kinds[name])) for name, _, values in EDGES}
    )
    names = Names({name: Column(name, kind) for name, kind in kinds.items()}, {}, ZONE)
    found = results_of(sorted(set(expressions()))[::SAMPLE], names, rows)
    assert len(found) > 500
    table = pa.Table.from_batches([rows]).append_column("_row", pa.array(range(rows.num_rows)))
    fields = [(name, kind) for name, kind, _ in EDGES] + [("_row", "long")]
    struct = StructType.fromJson(
        {"fields": [{"name": n, "type": k, "nullable": True, "metadata": {}} for n, k in fields]}
    )
    check(spark.createDataFrame(table, struct), found)


def test_edges_of_char(spark: SparkSession, warehouse: Warehouse) -> None:
    spark.sql(f"CREATE TABLE char_edges (_row BIGINT, {CHAR_COLUMNS})")
    spark.sql(f"INSERT INTO char_edges VALUES {CHAR_ROWS}")
    table = warehouse.open("char_edges")
    rows = table.scan().to_arrow().sort_by("_row").combine_chunks().to_batches()[0]
    found = results_of(
        sorted(set(char_expressions()))[::SAMPLE], names_of(table.schema, ZONE), rows
    )
    assert len(found) > 200
    check(spark.table("char_edges"), found)


def results_of(
    texts: list[str], names: Names, rows: pa.RecordBatch
) -> dict[str, dict[int, object]]:
    """Return the value of each expression for each row for which Python has one."""
    found: dict[str, dict[int, object]] = {}
    for sql in texts:
        with suppress(UnsupportedExpressionError, InvalidExpressionError):
            read = read_expression(sql, names)
            values: dict[int, object] = {}
            for row in range(rows.num_rows):
                with suppress(ExpressionFailedError):
                    values[row] = shown(evaluated(read, rows.slice(row, 1), sql=sql)[0])
            if values:
                found[sql] = values
    return found


def check(frame: DataFrame, found: dict[str, dict[int, object]]) -> None:
    """Compare with what Spark evaluates, in the rows that are in `found` only."""
    texts = list(found)
    for start in range(0, len(texts), 300):
        batch = texts[start : start + 300]
        parts = [
            f"CASE WHEN _row IN ({', '.join(map(str, found[sql]))}) THEN ({sql}) END AS `{number}`"
            for number, sql in enumerate(batch)
        ]
        rows = frame.selectExpr("_row", *parts).toArrow().sort_by("_row")
        for number, sql in enumerate(batch):
            values = rows[str(number)]
            assert {row: shown(values[row]) for row in found[sql]} == found[sql], sql


def shown(value: pa.Scalar) -> object:
    """Return a value so that NaN equals itself, and 0.0 is not -0.0."""
    plain = value.as_py()
    return repr(plain) if isinstance(plain, float) else plain


def test_rules_have_spark_s_results(spark: SparkSession, warehouse: Warehouse) -> None:
    for name in ("of_spark", "of_python"):
        spark.sql(RULES.format(name))
    spark.sql("INSERT INTO of_spark (id) VALUES (1)")
    spark.sql("INSERT INTO of_spark (id, v, c, n, price) VALUES (2, 'ab   ', 'x', -5, 9999.99)")
    spark.sql("INSERT INTO of_spark (id, v, c, day) VALUES (3, 'abcde  ', 'abcd   ', NULL)")
    spark.sql("INSERT INTO of_spark (id, v, n, at) VALUES (4, NULL, NULL, NULL)")
    table = warehouse.open("of_python")
    table.append(pa.table({"id": [1]}))
    price = pa.array(["9999.99"]).cast(pa.decimal128(6, 2))
    table.append(pa.table({"id": [2], "v": ["ab   "], "c": ["x"], "n": [-5], "price": price}))
    table.append(pa.table({"id": [3], "v": ["abcde  "], "c": ["abcd   "], "day": [None]}))
    table.append(pa.table({"id": [4], "v": [None], "n": [None], "at": [None]}))
    assert written(table) == written(warehouse.open("of_spark"))
    query = "SELECT * FROM {} ORDER BY id"
    assert (
        spark.sql(query.format("of_python")).collect()
        == spark.sql(query.format("of_spark")).collect()
    )


def written(table: Table) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.scan().to_arrow().sort_by("id").to_pylist()
    return found


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ({"v": ["abcdef"]}, "v) VALUES (9, 'abcdef'"),
        ({"c": ["abcde"]}, "c) VALUES (9, 'abcde'"),
        ({"n": [2**30]}, "n, v) VALUES (9, 1073741824 + 1073741824, 'a'"),
    ],
)
def test_both_refuse(
    columns: dict[str, list[Any]], values: str, spark: SparkSession, warehouse: Warehouse
) -> None:
    spark.sql("DROP TABLE IF EXISTS refusing")
    spark.sql(
        "CREATE TABLE refusing (id BIGINT, v VARCHAR(5), c CHAR(4), n INT, "
        "double INT GENERATED ALWAYS AS (n + n))"
    )
    with pytest.raises(PySparkException):
        spark.sql(f"INSERT INTO refusing (id, {values})").collect()
    with pytest.raises(TableStoreError):
        warehouse.open("refusing").append(pa.table({"id": [9], **columns}))


@pytest.mark.parametrize(
    ("assignments", "where"),
    [
        ({"n": "n * 2"}, "n % 2 = 1"),
        ({"v": "left(v, 1) || 'z'"}, "v LIKE '_b%' OR c = 'x'"),
        ({"price": "coalesce(price, 0) + 0.005"}, "id IN (1, 2)"),
        ({"n": "CASE WHEN n > 0 THEN n ELSE -n END"}, "day >= '2020-01-01' AND at IS NOT NULL"),
        ({"x": "n / 3"}, "at < TIMESTAMP '2020-07-01 12:00:01'"),
    ],
)
def test_update_as_spark(
    assignments: dict[str, object], where: str | None, spark: SparkSession, warehouse: Warehouse
) -> None:
    for name in ("left_one", "right_one"):
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(RULES.format(name))
        spark.sql(
            f"INSERT INTO {name} (id, v, c, n, at) VALUES (1, 'ab', 'x', 3, NULL), "
            "(2, 'cb', 'y', -3, current_timestamp()), (3, NULL, NULL, NULL, DATE '2000-01-01')"
            if name == "left_one"
            else "INSERT INTO right_one (id, v, c, n, at) SELECT id, v, c, n, at FROM left_one"
        )
    column, value = next(iter(assignments.items()))
    spark.sql(f"UPDATE left_one SET {column} = {value}" + (f" WHERE {where}" if where else ""))
    table = warehouse.open("right_one")
    table.update(assignments, where)
    assert written(table) == written(warehouse.open("left_one"))


def edge_columns() -> dict[str, Kind]:
    """Each scalar type and VARIANT: by itself, and in arrays, structs and maps."""
    columns: dict[str, Kind] = {"id": "BIGINT"}
    for kind in (*SCALARS, "VARIANT"):
        if "COLLATE" in kind:
            continue
        columns[kind] = kind
        if length_of(kind) is None:  # Spark alone checks lengths inside
            columns[f"{kind} array"] = Array(Struct((("f", kind), ("g", kind)), frozenset("g")))
            columns[f"{kind} map"] = Map(Array(kind), "DATE" if kind == "VARIANT" else kind)
    return columns


def edge_rows(columns: dict[str, Kind]) -> list[tuple[Any, ...]]:
    """Rows in which each column has all edges of its type, by themselves and inside; and NULLs."""
    count = max(len(edges(str(kind))) for kind in columns.values() if isinstance(kind, str))
    kinds = list(columns.values())[1:]
    return [
        (-1, *(None for _ in kinds)),
        *((number, *(edge(kind, number) for kind in kinds)) for number in range(count)),
    ]


def edge(kind: Kind, number: int) -> Any:
    match kind:
        case Array(Struct(((_, inner), _))):
            one, other = edge(inner, number), edge(inner, number + 1)
            return ((one, other), None, (None, one)) if number % 3 else ()
        case Map(Array(inner), key):
            found = edge(key, number)
            # Spark's maps have one zero as a key.
            return (("0.0" if found == "-0.0" else found, (edge(inner, number), None)),)
    known = edges(str(kind))
    return known[number % len(known)]


def test_edges_of_each_type_are_read_by_the_other_side(
    spark: SparkSession, warehouse: Warehouse
) -> None:
    columns = edge_columns()
    rows = edge_rows(columns)
    declared = ", ".join(f"{quoted(name)} {sql_type(kind)}" for name, kind in columns.items())
    for name in ("edges_of_python", "edges_of_spark"):
        spark.sql(f"CREATE TABLE {name} ({declared})")
    of_python = warehouse.open("edges_of_python")
    of_python.append(arrow_table(rows, columns))
    answer = arrow_answer(spark.table("edges_of_python")).sort_by("id")
    assert plain_rows(answer, columns) == rows
    spark.sql("INSERT INTO edges_of_spark SELECT * FROM edges_of_python")
    found = warehouse.open("edges_of_spark").scan().to_arrow().sort_by("id")
    assert plain_rows(found, columns) == rows


TIME = dt.time(12, 34, 56)
TIMES = {"t": TIME.replace(microsecond=789_000)}
INT_TEXT = "STRUCT<a: INT, b: STRING>"


@pytest.mark.parametrize(
    ("kind", "select", "values", "stored"),
    [
        (INT_TEXT, "named_struct('B', 'x', 'A', 1)", {"B": "x", "A": 1}, {"a": 1, "b": "x"}),
        (INT_TEXT, "named_struct('a', 1)", {"a": 1}, None),
        (INT_TEXT, "named_struct('a', 1, 'bb', 'x')", {"a": 1, "bb": "x"}, None),
        (INT_TEXT, "named_struct('a', 1, 'b', 'x', 'c', 2)", {"a": 1, "b": "x", "c": 2}, None),
        (INT_TEXT, "named_struct('a', true, 'b', 'x')", {"a": True, "b": "x"}, None),
        (INT_TEXT, "named_struct('a', '1', 'b', 'x')", {"a": "1", "b": "x"}, None),
        (INT_TEXT, "named_struct('a', 1, 'b', NULL)", {"a": 1, "b": None}, {"a": 1, "b": None}),
        (f"ARRAY<{INT_TEXT}>", "array(named_struct('a', 1))", [{"a": 1}], None),
        (
            f"ARRAY<{INT_TEXT}>",
            "array(named_struct('B', 'x', 'a', 1), NULL)",
            [{"B": "x", "a": 1}, None],
            [{"a": 1, "b": "x"}, None],
        ),
        ("ARRAY<STRING>", "array()", [], []),
        (
            "STRUCT<a: INT NOT NULL>",
            "named_struct('a', if(rand() < 2, NULL, 1))",
            {"a": None},
            None,
        ),
        ("STRUCT<a: INT NOT NULL>", "CAST(NULL AS STRUCT<a: INT>)", None, None),
        ("STRUCT<t: TIME(0)>", "named_struct('t', TIME'12:34:56.789')", TIMES, {"t": TIME}),
    ],
)
def test_both_store_it_or_both_refuse(
    kind: str, select: str, values: Any, stored: Any, spark: SparkSession, warehouse: Warehouse
) -> None:
    spark.sql("DROP TABLE IF EXISTS nested")
    spark.sql(f"CREATE TABLE nested (x {kind})")
    table = warehouse.open("nested")
    by_spark = f"INSERT INTO nested BY NAME SELECT {select} AS x"
    by_python = pa.table({"x": pa.array([values])})
    if stored is None and values is not None:
        with pytest.raises(PySparkException):
            spark.sql(by_spark)
        with pytest.raises(TableStoreError):
            table.append(by_python)
        return
    spark.sql(by_spark)
    table.append(by_python)
    assert table.scan().to_arrow()["x"].to_pylist() == [stored, stored]
    assert arrow_answer(spark.table("nested"))["x"].to_pylist() == [stored, stored]
