"""Each file of a warehouse, gone while Spark asks for what is in it.

A case copies a warehouse with a table of each kind, so that nothing of it is known, and takes one
file away. Every statement gives what it gives with all files, or an error that names the file.
When the file is back, the tables hold what they held, and what was inserted meanwhile.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.spark_program import session_with_warehouse
from tests.campaign.technique import Case, Counts, Technique

_Rows: TypeAlias = Counter[tuple[object, ...]]

_MADE: Final = (
    "CREATE TABLE k (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)",
    "ALTER TABLE k SET TBLPROPERTIES ('log.retention' = '7 d')",
    "CREATE TABLE r (id INT, v INT, p STRING) PARTITIONED BY (p)",
    "CREATE VIEW w AS SELECT 1 AS id",
    "INSERT INTO k SELECT id, id FROM range(20)",
    "INSERT INTO k SELECT id, id + 100 FROM range(10)",
    "UPDATE k SET v = 7 WHERE id = 3",
    "ALTER TABLE k ADD COLUMN c INT DEFAULT 5",
    "INSERT INTO k VALUES (50, 50, 50)",
    "CALL sys.expire_snapshots(table => 'k', retain_max => 3)",
    "INSERT INTO r SELECT id, id, IF(id < 5, 'a', 'b') FROM range(10)",
    "INSERT INTO r VALUES (100, 1, NULL)",
    "ALTER TABLE r PARTITION (p = 'a') COMPACT",
)
_READS: Final = (
    "SELECT * FROM k",
    "SELECT count(*), min(id), max(v) FROM k",
    "SELECT v FROM k WHERE id = 3",
    "SELECT id, v FROM k VERSION AS OF 3",
    "SELECT id, v, _change_type FROM k CHANGES FROM VERSION 2",
    "SELECT snapshot_id, commit_kind FROM `k$snapshots`",
    "SELECT * FROM r",
    "SELECT count(*) FROM r WHERE p = 'b'",
    "SELECT id, _change_type FROM r CHANGES FROM VERSION 1",
    "SELECT * FROM w",
)
_ASKS: Final = ("DESCRIBE EXTENDED k", "SHOW CREATE TABLE r", "SHOW TABLES", "SHOW PARTITIONS r")
_WRITES: Final = (
    "INSERT INTO k VALUES (1000, 1, 1)",
    "INSERT INTO r VALUES (1000, 1, 'a')",
    "ALTER TABLE k COMPACT",
    "ALTER TABLE r COMPACT",
    "CALL sys.expire_snapshots(table => 'k', retain_max => 2)",
    "INSERT INTO k VALUES (1001, 1, 1)",
    "UPDATE r SET v = v WHERE id = 1",
)
_INSERTED: Final[dict[str, tuple[str, tuple[object, ...]]]] = {
    _WRITES[0]: ("k", (1000, 1, 1)),
    _WRITES[1]: ("r", (1000, 1, "a")),
    _WRITES[5]: ("k", (1001, 1, 1)),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A warehouse, its files, and the answers of its reads."""

    folder: Path
    files: tuple[Path, ...]
    answers: dict[str, _Rows]


@lru_cache(maxsize=1)
def _template() -> Template:
    folder = Path(tempfile.mkdtemp(prefix="campaign-template-"))
    session = session_with_warehouse("template", folder)
    for sql in _MADE:
        session.sql(sql).collect()
    files = tuple(sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file()))
    return Template(folder, files, {read: _rows(session, read) for read in _READS})


def run_case(case: Case) -> Counts:
    """Take away the file of the case's number, ask everything, and put it back."""
    template = _template()
    folder = case.folder / "warehouse"
    shutil.copytree(template.folder, folder)
    file = folder / template.files[case.number % len(template.files)]
    session = session_with_warehouse(f"m{case.campaign_seed}_{case.number}", folder)
    content = file.read_bytes()
    file.unlink()
    counts: Counter[str] = Counter({"files": 1})
    for read in _READS:
        rows = _answer(session, read, file, counts)
        if rows is not None and rows != template.answers[read]:
            raise AssertionError(f"without {file}, {read} gives {rows}")
    for ask in _ASKS:
        _answer(session, ask, file, counts)
    there = {table: Counter(template.answers[f"SELECT * FROM {table}"]) for table in "kr"}
    for write in _WRITES:
        done = _answer(session, write, file, counts) is not None
        if done and write in _INSERTED:
            table, row = _INSERTED[write]
            there[table][row] += 1
    if not file.exists():
        file.write_bytes(content)
    for table, expected in there.items():
        rows = _rows(session, f"SELECT * FROM {table}")
        if rows != expected:
            raise AssertionError(f"{file} was gone and is back: {table} has {rows}")
    file.unlink(missing_ok=True)
    for table in "kr":
        _answer(session, f"DROP TABLE {table}", file, counts)
    return counts


def _answer(session: SparkSession, sql: str, missing: Path, counts: Counter[str]) -> _Rows | None:
    """Return the rows; None where the error names the file, or there is no such table."""
    try:
        rows = _rows(session, sql)
    except PySparkException as error:
        said = str(error).partition("\n\nJVM stacktrace:")[0]
        if not _names(missing, said):
            raise AssertionError(f"without {missing}, {sql} says:\n{said}") from error
        counts["errors that name the file"] += 1
        return None
    counts["right answers"] += 1
    return rows


def _names(missing: Path, said: str) -> bool:
    """Return whether an error names the file, or what people know the file as."""
    if missing.parent.name == "_names":
        return "TABLE_OR_VIEW_NOT_FOUND" in said or "TABLE_STORE_NOT_FOUND" in said
    snapshot = re.fullmatch(r"snapshot-(\d+)", missing.name)
    number = f"(id|version|snapshot) {snapshot[1]}\\b" if snapshot else "(?!)"
    named = missing.name in said or re.search(number, said) is not None
    return "[TABLE_STORE_" in said and named


def _rows(session: SparkSession, sql: str) -> _Rows:
    return Counter(tuple(row) for row in session.sql(sql).collect())


SPARK_MISSING_FILES: Final = Technique(
    name="spark-missing-files",
    goal="without any one file, what Spark says is right or names the file, and nothing is lost",
    suite_cases=3,
    release_cases=200,
    run_case=run_case,
    needs_spark=True,
)
