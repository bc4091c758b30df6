"""Goal: DESCRIBE, COMPACT and sys.compact mean the partition that Spark's statements mean.

Each case names one of two stored partitions, the second in another spelling of the same text. What
was named is told by its number of files, and by what DROP PARTITION of the same constant leaves.
"""

from __future__ import annotations

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

NEW_YORK, BERLIN = "America/New_York", "Europe/Berlin"


@pytest.mark.parametrize(
    ("zone", "kind", "named", "other", "constant"),
    [
        # 19:00 in New York is midnight in UTC.
        (NEW_YORK, "TIMESTAMP", "'2020-01-01'", "'2019-12-31 19:00:00'", "'2020-01-01'"),
        (
            NEW_YORK,
            "TIMESTAMP",
            "'2020-01-01'",
            "'2019-12-31 19:00:00'",
            "TIMESTAMP '2020-01-01 00:00:00'",
        ),
        (
            NEW_YORK,
            "TIMESTAMP",
            "'2019-12-31 10:00:00.5'",
            "'2020-01-01 00:00:00.5'",
            "'2020-01-01 00:00:00.5+09:00'",
        ),
        (
            NEW_YORK,
            "TIMESTAMP",
            "'2019-12-31 19:00:00'",
            "'2020-01-01 00:00:00'",
            "TIMESTAMP '2020-01-01 00:00:00Z'",
        ),
        # 02:30 is not in this night; Spark takes 03:30.
        (
            BERLIN,
            "TIMESTAMP",
            "'2021-03-28 03:30:00'",
            "'2021-03-28 04:30:00'",
            "'2021-03-28 02:30:00'",
        ),
        # 02:30 is twice in this night; Spark takes the first, of summer time.
        (
            BERLIN,
            "TIMESTAMP",
            "'2021-10-31 00:30:00Z'",
            "'2021-10-31 01:30:00Z'",
            "'2021-10-31 02:30:00'",
        ),
        (
            NEW_YORK,
            "TIMESTAMP_NTZ",
            "'2020-01-01'",
            "'2019-12-31 19:00:00'",
            "TIMESTAMP_NTZ '2020-01-01 00:00:00'",
        ),
        (
            NEW_YORK,
            "TIMESTAMP_NTZ",
            "'2019-12-31 19:00:00'",
            "'2020-01-01'",
            "TIMESTAMP '2020-01-01 00:00:00Z'",
        ),
        (NEW_YORK, "DATE", "'2020-01-01'", "'2019-12-31'", "DATE '2020-1-1'"),
        (
            NEW_YORK,
            "DATE",
            "'2019-12-31'",
            "'2020-01-01'",
            "TIMESTAMP '2020-01-01 00:00:00Z'",
        ),
        (NEW_YORK, "TIMESTAMP", "'2020-01-01'", "NULL", "DATE '2020-01-01'"),
        (NEW_YORK, "TIMESTAMP", "NULL", "'2020-01-01'", "NULL"),
        # Outside of Python's range of years, the first only in UTC.
        (NEW_YORK, "TIMESTAMP", "'9999-12-31 23:59:59'", "'2020-01-01'", "'9999-12-31 23:59:59'"),
        (NEW_YORK, "TIMESTAMP_NTZ", "'2020-01-01'", "'+10000-01-01'", "'2020-01-01'"),
        (NEW_YORK, "DATE", "'2020-01-01'", "'+10000-01-01'", "'2020-01-01'"),
        (NEW_YORK, "DATE", "'-0044-03-15'", "'0044-03-15'", "'-0044-03-15'"),
        (NEW_YORK, "FLOAT", "0.7", "0.1", "0.7"),  # no binary fraction
        (NEW_YORK, "CHAR(3)", "'a'", "'b'", "'a'"),
        (NEW_YORK, "BINARY", "X'4142'", "X'41'", "'AB'"),
        (NEW_YORK, "BOOLEAN", "true", "false", "'yes'"),
        (NEW_YORK, "DECIMAL(38, 2)", f"{'9' * 36}.99BD", "1.5BD", f"{'9' * 36}.99"),
    ],
)
def test_statements_mean_one_partition(
    shell: StockShell, zone: str, kind: str, named: str, other: str, constant: str
) -> None:
    shell.ok(f"SET spark.sql.session.timeZone = {zone}")
    shell.ok("DROP TABLE IF EXISTS parted")
    shell.ok(f"CREATE TABLE parted (n INT, p {kind}) PARTITIONED BY (p)")
    cast = f"AS {kind.replace('CHAR(3)', 'STRING')})"
    for n, value in ((1, named), (1, named), (2, other)):
        shell.ok(f"INSERT INTO parted SELECT {n}, CAST({value} {cast}")
    compact = f"ALTER TABLE parted PARTITION (p = {constant}) COMPACT"
    described = shell.ok(f"DESCRIBE TABLE EXTENDED parted PARTITION (P = {constant})")
    assert [row[1] for row in described if row[0] == "num-files"] == ["2"]
    assert shell.ok(compact)[0][:2] == ("2", "1")
    shell.ok(f"ALTER TABLE parted DROP PARTITION (p = {constant})")
    assert shell.ok("SELECT n FROM parted") == (("2",),)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO hours REPLACE WHERE p = {p} SELECT 3, CAST({p} AS TIMESTAMP)",
        "INSERT OVERWRITE hours PARTITION (p = {p}) SELECT 3",
        "DELETE FROM hours WHERE p = {p}",
        "TRUNCATE TABLE hours PARTITION (p = {p})",
    ],
)
@pytest.mark.parametrize(
    ("constant", "moment", "other"),
    [
        # 02:30 is not in this night; Spark takes 03:30.
        ("'2021-03-28 02:30:00'", "2021-03-28 01:30:00Z", "2021-03-28 02:30:00Z"),
        # 02:30 is twice in this night; Spark takes the first, of summer time.
        ("TIMESTAMP '2021-10-31 02:30:00'", "2021-10-31 00:30:00Z", "2021-10-31 01:30:00Z"),
    ],
)
def test_a_moment_is_of_the_session_s_zone_in_every_statement(
    shell: StockShell, statement: str, constant: str, moment: str, other: str
) -> None:
    shell.ok(f"SET spark.sql.session.timeZone = {BERLIN}")
    shell.ok("DROP TABLE IF EXISTS hours")
    shell.ok("CREATE TABLE hours (n INT, p TIMESTAMP) PARTITIONED BY (p)")
    shell.ok(f"INSERT INTO hours VALUES (1, TIMESTAMP '{moment}'), (2, TIMESTAMP '{other}')")
    shell.ok(statement.format(p=constant))
    left = shell.ok("SELECT n, date_format(p, 'HH:mm XXX') FROM hours ORDER BY p")
    hour = shell.ok(f"SELECT date_format(TIMESTAMP '{moment}', 'HH:mm XXX')")[0][0]
    assert left[0] == ("3", hour) if "SELECT" in statement else left[0][0] == "2"
    assert left[-1][0] == "2"
    assert len(left) == 1 + ("SELECT" in statement)


def test_a_partition_of_the_procedure_is_of_the_session_s_zone(shell: StockShell) -> None:
    shell.ok(f"SET spark.sql.session.timeZone = {NEW_YORK}")
    shell.ok("CREATE TABLE called (n INT, p TIMESTAMP, q STRING) PARTITIONED BY (p, q)")
    for zone in ("", "", "Z"):
        shell.ok(f"INSERT INTO called VALUES (1, TIMESTAMP '2020-01-01 00:00:00{zone}', 'it''s')")
    call = "CALL sys.compact(table => 'called', partitions => \"p=2020-01-01, q=it's\")"
    assert shell.ok(call)[0][:2] == ("2", "1")
    call = "CALL sys.compact(table => 'called', partitions => 'p=2020-01-01T00:00:00+00:00')"
    assert shell.ok(call)[0][:2] == ("1", "1")
    shell.ok("ALTER TABLE called PARTITION (q = 'it''s') COMPACT")


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("INT", "x"),
        ("INT", "99999999999"),
        ("DATE", "x"),
        ("BOOLEAN", "x"),
        ("DECIMAL(2, 1)", "99"),
    ],
)
def test_the_procedure_names_its_own_argument(shell: StockShell, kind: str, value: str) -> None:
    shell.ok("DROP TABLE IF EXISTS typed")
    shell.ok(f"CREATE TABLE typed (n INT, p {kind}) PARTITIONED BY (p)")
    said = shell.run(f"CALL sys.compact('typed', 'p={value}')").error
    assert said.startswith("[TABLE_STORE_INVALID_OPTION] "), said
    assert f"'p={value}'" in said
    assert "SHOW PARTITIONS" not in said


@pytest.mark.parametrize(
    ("terms", "condition"),
    [
        ("p = 'abc'", "[CAST_INVALID_INPUT]"),
        ("p = 1.5", "[CAST_INVALID_INPUT]"),
        ("n = 1", "[PARTITIONS_NOT_FOUND]"),
        ("p = 1 + 1", "[TABLE_STORE_INVALID_SCHEMA]"),
        ("p = n", "[TABLE_STORE_INVALID_SCHEMA]"),
        ("p = 1, p = 2", "[TABLE_STORE_INVALID_SCHEMA]"),
    ],
)
def test_what_names_no_partition_is_refused(shell: StockShell, terms: str, condition: str) -> None:
    shell.ok("CREATE TABLE IF NOT EXISTS refusing (n INT, p INT) PARTITIONED BY (p)")
    for statement in (
        f"ALTER TABLE refusing PARTITION ({terms}) COMPACT",
        f"DESCRIBE TABLE EXTENDED refusing PARTITION ({terms})",
    ):
        said = shell.run(statement).error
        assert said.startswith(condition), said
