"""Goal: in place of `spark_catalog`, Spark's own test statements give what plain Spark gives.

The statements are Spark's golden files, on tables USING parquet, …; the oracle is a session without
us in the same JVM. What differs is listed here with its reason, and a difference that is gone
fails, too.
"""

from __future__ import annotations

import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from servers.maven_jars import maven_jars
from tests.integration.catalog_conf import SESSION_CATALOG
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark

FILES: Final = (
    "change-column",
    "describe-part-after-analyze",
    "describe-table-after-alter-table",
    "show-create-table",
    "show-tblproperties",
    "show_columns",
    "sql-udf-name-precedence",
)
PLAIN: Final = {
    "spark.sql.extensions": "",
    "spark.sql.catalog.spark_catalog": "builtin",
    "spark.sql.defaultCatalog": "spark_catalog",
    "spark.sql.sources.default": "parquet",
}
_VIEW: Final = "a view is one of ours: its name is shown as it was written, with the catalog's"
DIFFERENCES: Final = {
    **{
        (f"SHOW CREATE TABLE view_SPARK_30302{end}", n): _VIEW
        for end in ("", " AS SERDE")
        for n in (1, 2, 3)
    },
    ("SHOW CREATE TABLE view_SPARK_55372", 1): _VIEW,
    ('SHOW TBLPROPERTIES view("p3")', 1): "the message says that it is a view, plain Spark a table",
    ("SHOW CREATE TABLE tbl", 11): "a managed table names no format of files",
}
"""A statement of the golden files, how often it has come by then, and why it differs."""

Key: TypeAlias = tuple[str, int]
Result: TypeAlias = list[str]

# Places, times and numbers of attributes are others in each session.
_OWN: Final = re.compile(
    r"(file:)?/[^ '\",;\]]*spark-warehouse[^ '\",;\])]*|#\d+|\w{3} \w{3} \d+ [\d:]+ UTC \d{4}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z"
)


def statements(file: str) -> list[str]:
    """The statements of a golden file."""
    (jar,) = maven_jars("spark-tests").glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        text = archive.read(f"sql-tests/inputs/{file}.sql").decode()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    parts = re.split(r"(?<!\\);", "\n".join(lines))
    return [" ".join(part.split()) for part in parts if part.strip()]


def results(folder: Path, settings: dict[str, str]) -> Iterator[tuple[Key, Result]]:
    """Each statement and its rows, or its error, without what belongs to one session."""
    came: Counter[str] = Counter()
    with spark_session(folder, settings) as spark, unlogged_errors():
        for file in FILES:
            session = spark.newSession()
            for statement in statements(file):
                came[statement] += 1
                yield (statement, came[statement]), _result(session, statement)


def _result(session: SparkSession, statement: str) -> Result:
    try:
        rows = [str(tuple(row)) for row in session.sql(statement).collect()]
    except PySparkException as error:
        rows = [str(error).splitlines()[0]]
    shown = [_OWN.sub("…", row) for row in rows]
    return shown if "ORDER BY" in statement.upper() else sorted(shown)


def test_as_plain_spark(tmp_path: Path) -> None:
    """All statements of the files, in one go, since each file goes on from what it has made."""
    expected = dict(results(tmp_path / "plain", PLAIN))
    found = dict(results(tmp_path / "ours", SESSION_CATALOG))
    assert found.keys() == expected.keys()
    differing = {key: (found[key], expected[key]) for key in found if found[key] != expected[key]}
    unexplained = {key: differing[key] for key in differing.keys() - DIFFERENCES.keys()}
    assert unexplained == {}
    assert DIFFERENCES.keys() - differing.keys() == set()
