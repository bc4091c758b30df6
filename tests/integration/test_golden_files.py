"""Goal: in place of `spark_catalog`, Spark's own test statements give what plain Spark gives.

The statements are Spark's golden files; the oracle is a session without us in the same JVM. They
are run twice: as they are, where tables USING parquet, … are foreign ones, and with USING taken
out of CREATE TABLE, where all tables are managed. What differs is listed here with its reason, and
a difference that is gone fails, too.

Some of them are in the suite. `make golden` compares all that make a table, by hand; with
FILES='<regular expression>' those of them that are named so.
"""

from __future__ import annotations

import os
import re
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final, TypeAlias

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from servers.maven_jars import maven_jars
from tests.integration.catalog_conf import SESSION_CATALOG
from tests.integration.spark_session import spark_session, unlogged_errors

pytestmark = pytest.mark.spark

DESCRIBED: Final = (
    "change-column",
    "describe",
    "describe-part-after-analyze",
    "describe-table-after-alter-table",
    "show-create-table",
    "show-tables",
    "show-tblproperties",
    "show-views",
    "show_columns",
    "sql-on-files",
    "sql-udf-name-precedence",
)
"""Files about what plain Spark's catalog says of tables in files; managed ones say other things."""

ABOUT_FILES: Final = (*DESCRIBED, "metadata_column_resolution")
"""All of that kind; the last one reads `_metadata`, which only files have."""

QUERIED: Final = (
    "charvarchar",
    "columnresolution",
    "cte-command",
    "describe-query",
    "postgreSQL/select",
    "selectExcept",
    "tablesample-negative",
    "timestamp-ntz",
    "union",
    "view-schema-compensation",
)
"""Files about rows, which are the same in any table."""

ASKED: Final = os.environ.get("GOLDEN_FILES")
PLAIN: Final = {
    "spark.sql.extensions": "",
    "spark.sql.catalog.spark_catalog": "builtin",
    "spark.sql.defaultCatalog": "spark_catalog",
    "spark.sql.sources.default": "parquet",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """Where we differ, and why.

    Attributes:
        file: regular expression of golden files.
        statement: that of whole statements, in any case of letters.
        reason: why.
        rows: of the rows in which the results differ; all others are the same.
    """

    file: str
    statement: str
    reason: str
    rows: str = ".*"

    def explains(self, file: str, statement: str, found: Result, expected: Result) -> bool:
        """Whether nothing else differs."""
        if not re.fullmatch(self.file, file) or not re.fullmatch(self.statement, statement, re.I):
            return False
        return self._others(found) == self._others(expected)

    def _others(self, result: Result) -> Result:
        return [row for row in result if not re.fullmatch(self.rows, row, re.DOTALL)]


Key: TypeAlias = tuple[str, int]
Result: TypeAlias = list[str]

_SAID_OF_VIEWS: Final = (
    r"\('(# Detailed (View|Table) Information|Created (By|Time)|Database|Last Access|Namespace"
    r"|Owner|(Table )?Properties|Table|View( (Current (Catalog|Namespace)|Catalog and Namespace"
    r"|Original Text|Query Output Columns|Schema Mode))?)',.*"
)
_EVERY: Final = (
    Difference(
        "show-create-table|charvarchar|view-schema-binding-config",
        "show create table (view_|char_view|v).*",
        "a view is one of ours: its name is shown as it was written, with the catalog's",
    ),
    Difference(
        "charvarchar|describe|view-schema-.*|postgreSQL/create_view",
        r"(desc|describe) (table )?(formatted|extended) (char_view|v\d?|temp_view_test\.v2"
        r"|nontemp\d|pubview|mytempview)",
        "a view is one of ours: Spark describes it as a view, and not as a table of its kind",
        _SAID_OF_VIEWS,
    ),
    Difference(
        "view-schema-binding-config",
        "SHOW TABLE EXTENDED LIKE 'v'",
        "the same in one text",
    ),
    Difference(
        "postgreSQL/wi(ndow_part1|th)|sql-path",
        r"DROP VIEW (tenk2|vsubdepartment|default\.v_path_frozen)",
        "another condition for no view",
    ),
    Difference(
        "identifier-clause",
        r".* IDENTIFIER\('a\.b\.c(\.d)?'\).*",
        "a schema within a schema is not found; plain Spark does not look for one",
    ),
    Difference(
        "identifier-clause",
        "REPLACE TABLE .*",
        "tables in files can be replaced, too",
    ),
    Difference("explain", "EXPLAIN FORMATTED CREATE VIEW .*", "a view is one of ours"),
    Difference(
        "view-schema-evolution",
        r"SELECT \* FROM v",
        "the same message, without a semicolon",
        r"\[COLUMN_ALREADY_EXISTS\].*",
    ),
)
OF_FOREIGN: Final = (
    *_EVERY,
    Difference(
        "show-tblproperties",
        r'SHOW TBLPROPERTIES view\("p3"\)',
        "the message says that it is a view, plain Spark a table",
    ),
    Difference("show-create-table", "SHOW CREATE TABLE tbl", "a managed table names no format"),
    Difference(
        "describe",
        "DESC (FORMATTED|EXTENDED) t",
        "a property that is secret is left out; plain Spark shows that there is one",
        r"\('Table Properties'.*",
    ),
    Difference(
        "describe",
        "(DESC|DESCRIBE) (TABLE )?EXTENDED [ft] .*AS JSON",
        "the same in one text: secret properties, and what Spark's metastore alone notes of files",
    ),
    Difference(
        "describe",
        "DESC FORMATTED f PARTITION .*",
        "numbers and times of files that Spark's metastore alone notes",
        r"\('Partition Parameters'.*",
    ),
    Difference(
        "describe",
        "DESC v PARTITION .*",
        "of a catalog of the second version Spark looks for tables alone",
    ),
    Difference("describe", "DROP VIEW temp_Data_Source_View", "another condition for no view"),
    Difference(
        "describe|show-views",
        ".*(test_schema|wrongdb).*",
        "the name of an absent schema is shown without the catalog's",
        r"\[SCHEMA_NOT_FOUND\].*",
    ),
    Difference(
        "show-tables",
        "SHOW TABLES.*",
        "of a catalog of the second version Spark lists no temporary views",
        r"\('', 'show_t3', True\)",
    ),
    Difference(
        "show-tables",
        "SHOW TABLE EXTENDED LIKE 'show_t\\*'",
        "of a catalog of the second version Spark writes other lines",
    ),
    Difference(
        "show-views",
        "SHOW VIEWS.*(?<!global_temp)",
        "of a catalog of the second version Spark lists no temporary views",
        r"\('', 'view_4', True\)|\[SCHEMA_NOT_FOUND\].*",
    ),
    Difference("show-views", "SHOW VIEWS IN global_temp", "that is no schema of a catalog of ours"),
    Difference(
        "sql-on-files",
        r"SELECT \* FROM (parquet|orc|csv|json)\.`\$.*",
        "the folder of a table that is made without LOCATION has another name",
    ),
)
_SAID_OF_MANAGED: Final = (
    r"\('(Created (By|Time)|Last Access|(Partition )?Provider|Owner|Namespace|Is_managed_location"
    r"|Statistics|(Table|Storage) Properties|# Metadata Columns|_\w+|[a-z]+[-.][\w.-]+|bucket"
    r"|compacted|watermark)?',.*"
)
OF_MANAGED: Final = (
    *_EVERY,
    Difference(
        "charvarchar|timestamp-ntz",
        r"desc formatted (char_\w+|a)",
        "a managed table has change columns, statistics and no format of files",
        _SAID_OF_MANAGED,
    ),
    Difference(
        "charvarchar",
        r"desc formatted char_\w+ c",
        "a managed table has no histogram of a column",
    ),
    Difference("charvarchar", r"show create table char_\w+", "a managed table names no format"),
    Difference(
        "charvarchar",
        "alter table char_tbl1 change column c type char\\(6\\)",
        "the same message, with a semicolon",
    ),
    Difference(
        "charvarchar",
        "alter table char_(part|tbl1) .*|MSCK REPAIR TABLE char_part",
        "partitions of a managed table come and go with their rows, and it has no SerDe",
    ),
    Difference(
        "timestamp-ntz",
        r"SELECT \* FROM a",
        "partition columns stay where they were declared, in plain Spark they come last",
    ),
    Difference(
        "explain|explain-cbo", "EXPLAIN .*", "plans show a scan of the second version, and others"
    ),
    Difference(
        "explain-cbo|identifier-clause",
        "ANALYZE TABLE .*|REPAIR TABLE .*",
        "a managed table knows its statistics and partitions by each commit",
    ),
    Difference(
        "identifier-clause",
        r"(DELETE FROM|UPDATE|MERGE INTO) .*|SELECT \* FROM IDENTIFIER\('(`?s`?\.)?.?t.*"
        r"|.*ALTER TABLE .* (RENAME|DROP) COLUMN .*|SELECT col1 FROM tab"
        r"|SELECT \* FROM tab_renamed",
        "rows and columns of a managed table can be changed, those of files cannot",
        r"\((\d+|None)(, (\d+|None))*,?\)"
        r"|\[(UNSUPPORTED_FEATURE\.TABLE_OPERATION|UNRESOLVED_COLUMN\.\w+)\].*",
    ),
    Difference(
        "identifier-clause",
        r"SHOW PARTITIONS IDENTIFIER\('test_show'\)",
        "the message is that of a table that has no partitions of its own",
    ),
    Difference(
        "identifier-clause", r"SHOW CREATE TABLE .*", "a managed table names no format of files"
    ),
    Difference(
        "identifier-clause",
        "DESCRIBE (FORMATTED|EXTENDED) .*",
        "a managed table has change columns, and no format of files",
        _SAID_OF_MANAGED,
    ),
    Difference(
        "collations-basic",
        "describe table t1",
        "COLLATE UTF8_BINARY is what a STRING has in any case",
    ),
    Difference(
        "collations-aliases|subquery/subquery-offset",
        "select .*(limit|offset).*",
        "nothing says which rows come first",
    ),
    Difference(
        "postgreSQL/join",
        r".* full join \(select \* from j2_tbl order by .*",
        "an order within a subquery orders no result",
    ),
    Difference(
        "postgreSQL/join",
        ".* FROM J1_TBL CROSS JOIN J2_TBL",
        "the name of a table is shown as it was written in CREATE TABLE",
    ),
    Difference(
        "decimalArithmeticOperations",
        r"select /\*\+ COALESCE\(1\) \*/ .*",
        "several rows overflow, and another one is met first",
    ),
)

# Places, times and numbers of attributes and objects are others in each session.
_OWN: Final = re.compile(
    r"(?<=paths\)\[)[^\[]*?(?=, PartitionFilters)"
    r"|(file:)?/[^ '\",;\]]*spark-warehouse[^ '\",;\])]*|#\d+|\w{3} \w{3} \d+ [\d:]+ UTC \d{4}"
    r"|\d{4}-\d\d-\d\dT[\d:.]+Z|(?<=calling )o\d+|(?<=plan_id=)\d+"
)
_RAW: Final = re.compile(r"Python worker|Traceback|Py4J|\bjava\.|\bscala\.")
"""What no reason makes good."""

_USING: Final = re.compile(r"\bUSING\s+(parquet|orc|json|csv)\b", re.IGNORECASE)
_CREATES: Final = re.compile(r"(CREATE|REPLACE)\b.*\bTABLE\b", re.IGNORECASE)
_COMMENTS: Final = re.compile(r"\A(\s*--[^\n]*(\n|\Z))+")
"""Behind the semicolon of the statement before."""


def statements(file: str) -> list[str]:
    """The statements of a golden file."""
    lines = [line for line in _texts()[file].splitlines() if not line.lstrip().startswith("--")]
    parts = re.split(r"(?<!\\);", "\n".join(lines))
    begun = [_COMMENTS.sub("", part).strip() for part in parts]
    return [statement for statement in begun if statement]


@cache
def _texts() -> dict[str, str]:
    """The golden files but for those with scripts, in which `;` ends no statement."""
    folder = "sql-tests/inputs/"
    (jar,) = maven_jars("spark-tests").glob("*.jar")
    with zipfile.ZipFile(jar) as archive:
        names = [n for n in archive.namelist() if n.startswith(folder) and n.endswith(".sql")]
        texts = {n[len(folder) : -4]: archive.read(n).decode() for n in sorted(names)}
    return {name: text for name, text in texts.items() if "QUERY-DELIMITER" not in text}


def results(
    folder: Path, settings: dict[str, str], files: tuple[str, ...], *, are_managed: bool = False
) -> Iterator[tuple[Key, tuple[str, Result]]]:
    """Each statement and its rows, or its error, without what belongs to one session."""
    with spark_session(folder, settings) as spark, unlogged_errors():
        for file in files:
            session = spark.newSession()
            for number, statement in enumerate(statements(file)):
                shown, run = " ".join(statement.split()), statement
                if are_managed and _CREATES.match(shown):
                    run = _USING.sub("", statement)
                yield (file, number), (shown, _result(session, run))


def _result(session: SparkSession, statement: str) -> Result:
    try:
        rows = [str(tuple(row)) for row in session.sql(statement).collect()]
    except (PySparkException, Py4JJavaError) as error:
        # Frames of the JVM's own reflection are others after some calls.
        lines = [one for one in str(error).strip().splitlines() if not one.startswith("\tat ")]
        has_condition = isinstance(error, PySparkException) and lines[0].startswith("[")
        rows = [lines[0] if has_condition else " ".join(lines)]
    except (ValueError, OverflowError) as error:
        rows = [str(error)]  # Python has no such time
    shown = [_OWN.sub("…", row) for row in rows]
    return shown if "ORDER BY" in statement.upper() else sorted(shown)


def files_of(usual: tuple[str, ...]) -> tuple[str, ...]:
    """The files to compare: the usual ones, or those that were asked for, if they make a table."""
    return usual if ASKED is None else tuple(f for f in with_tables() if re.fullmatch(ASKED, f))


def with_tables() -> tuple[str, ...]:
    """The golden files that make a table."""
    return tuple(name for name, text in _texts().items() if _CREATES.search(text))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> Mapping[Key, tuple[str, Result]]:
    """What plain Spark gives."""
    files = files_of((*DESCRIBED, *QUERIED))
    return dict(results(tmp_path_factory.mktemp("plain"), PLAIN, files))


@pytest.mark.parametrize(
    ("usual", "differences"),
    [((*DESCRIBED, *QUERIED), OF_FOREIGN), (QUERIED, OF_MANAGED)],
    ids=["foreign", "managed"],
)
def test_as_plain_spark(
    usual: tuple[str, ...],
    differences: tuple[Difference, ...],
    expected: Mapping[Key, tuple[str, Result]],
    tmp_path: Path,
) -> None:
    """All statements of the files, in one go, since each file goes on from what it has made."""
    files, are_managed = files_of(usual), differences is OF_MANAGED
    every = files if ASKED is None else with_tables()
    if are_managed:
        files, every = (tuple(f for f in some if f not in ABOUT_FILES) for some in (files, every))
    found = dict(results(tmp_path, SESSION_CATALOG, files, are_managed=are_managed))
    assert {file for file, _ in found} == set(files)
    raw = {k: one for k, one in found.items() if one != expected[k] and _RAW.search(str(one[1]))}
    assert raw == {}
    used, unexplained = set(), {}
    for key, (statement, ours) in found.items():
        plain = expected[key][1]
        if ours == plain:
            continue
        known = [d for d in differences if d.explains(key[0], statement, ours, plain)]
        used.update(known)
        if not known:
            unexplained[key] = (statement, ours, plain)
    assert unexplained == {}
    of = {d: {file for file in every if re.fullmatch(d.file, file)} for d in differences}
    met = [d for d in differences if of[d] and of[d] <= set(files)]
    assert [d for d in met if d not in used] == []
