"""What INSERT, UPDATE and MERGE may write: change types, computed columns, defaults."""

from __future__ import annotations

import json

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

ON_ID = "USING (SELECT 1 AS id) s ON t.id = s.id"
OP = "WITH ('change-type-column' = 'op')"


def test_change_types_with_key(shell: StockShell) -> None:
    """Any changelog can be written by any SQL; its column may stand anywhere."""
    shell.ok("CREATE TABLE cl (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO cl VALUES (1, 'a'), (2, 'b')")
    shell.ok(
        f"INSERT INTO cl {OP} SELECT * FROM VALUES "
        "(1, 'a', 'update_preimage'), (1, 'A', 'update_postimage'), (2, 'b', 'DELETE'), "
        "(3, 'c', 'insert') AS s(id, v, op)"
    )
    assert shell.run("SELECT * FROM cl").sorted() == [("1", "A"), ("3", "c")]
    shell.ok(
        "WITH s AS (SELECT 'delete' AS op, 1 AS id, 'x' AS v) "
        "INSERT INTO cl /*+ OPTIONS('change-type-column' = 'op') */ SELECT * FROM s"
    )
    shell.ok(f"INSERT INTO cl {OP} (v, id) SELECT 'insert' AS op, 'y', 7")
    shell.ok(f"INSERT INTO cl {OP} (v, op, id) SELECT 'z', 'insert', 8")
    shell.ok(f"INSERT INTO cl {OP} BY NAME SELECT 'insert' AS op, 'n' AS v, 9 AS id")
    assert shell.run("SELECT * FROM cl").sorted() == [
        ("3", "c"),
        ("7", "y"),
        ("8", "z"),
        ("9", "n"),
    ]


def test_change_types_without_key(shell: StockShell) -> None:
    """A delete takes away one equal row, also where the partition is said apart."""
    shell.ok("CREATE TABLE cb (p STRING, a INT) PARTITIONED BY (p)")
    shell.ok("INSERT INTO cb VALUES ('x', 1), ('x', 1), ('y', 2)")
    shell.ok(f"INSERT INTO cb {OP} PARTITION (p = 'x') SELECT 1, 'delete' AS op")
    shell.ok(
        f"INSERT INTO cb {OP} SELECT 'y', 'update_preimage' AS op, 2 "
        "UNION ALL SELECT 'y', 'update_postimage', 3"
    )
    assert shell.run("SELECT * FROM cb").sorted() == [("x", "1"), ("y", "3")]


@pytest.mark.parametrize("second", ["OVERWRITE TABLE", "OVERWRITE"])
def test_inserts_of_one_statement_follow_each_other(shell: StockShell, second: str) -> None:
    """Each is a commit; an overwrite of what the statement itself reads is refused before."""
    parts = " PARTITIONED BY (p)" if second == "OVERWRITE" else ""
    shell.ok(f"CREATE OR REPLACE TABLE one_by_one (id INT, v INT, p STRING){parts}")
    shell.ok("INSERT INTO one_by_one VALUES (9, 9, 'z')")
    shell.ok(
        "FROM (SELECT * FROM VALUES (3, 1), (4, 2) AS t(id, v)) "
        "INSERT INTO one_by_one SELECT id, v, 'a' WHERE v = 1 "
        f"INSERT {second} one_by_one SELECT id, v, 'b' WHERE v = 2"
    )
    assert shell.ok("SELECT id FROM one_by_one") == (("4",),)
    twice = (
        "FROM one_by_one INSERT INTO one_by_one SELECT id + 1, v, p INSERT {} one_by_one SELECT *"
    )
    said = shell.run(twice.format(second)).error
    assert said.startswith("[TABLE_STORE_REPEATED_WRITE] An INSERT OVERWRITE of")
    assert shell.ok("SELECT id FROM one_by_one") == (("4",),)
    shell.ok(twice.format("INTO"))
    assert shell.run("SELECT id FROM one_by_one").sorted() == [("4",), ("4",), ("5",)]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["bag", "key"])
def test_updates_by_subqueries(shell: StockShell, key: str) -> None:
    shell.ok(f"CREATE OR REPLACE TABLE looked_up (id INT, v INT{key})")
    shell.ok("CREATE OR REPLACE TABLE beside (id INT, v INT)")
    shell.ok("INSERT INTO looked_up VALUES (1, 1), (2, 2), (3, 3)")
    shell.ok("INSERT INTO beside VALUES (1, 10), (1, 11), (2, 20)")
    newest = "SELECT max(b.v) FROM beside b WHERE b.id = looked_up.id"
    shell.ok(f"UPDATE looked_up SET v = ({newest}) WHERE id < 3")
    assert shell.run("SELECT * FROM looked_up").sorted() == [("1", "11"), ("2", "20"), ("3", "3")]
    there = "EXISTS (SELECT 1 FROM beside b WHERE b.id = looked_up.id)"
    shell.ok(f"UPDATE looked_up SET v = CASE WHEN {there} THEN 1 ELSE 2 END")
    assert shell.run("SELECT * FROM looked_up").sorted() == [("1", "1"), ("2", "1"), ("3", "2")]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["bag", "key"])
def test_subqueries_tied_by_an_inequality(shell: StockShell, key: str) -> None:
    """Spark copies the target into the plan of such a subquery, and allows only one."""
    shell.ok(f"CREATE OR REPLACE TABLE running (id INT, v INT, total INT{key})")
    shell.ok("INSERT INTO running VALUES (1, 10, 0), (2, 20, 0), (3, 30, 0)")
    total = "(SELECT sum(r.v) FROM running r WHERE r.id <= running.id)"
    more = "(SELECT count(*) FROM running r WHERE r.v > running.v)"
    shell.ok(f"UPDATE running SET total = {total}, v = {more} WHERE {total} > 10")
    expected = [("1", "10", "0"), ("2", "1", "30"), ("3", "0", "60")]
    assert shell.run("SELECT * FROM running").sorted() == expected
    shell.ok(f"DELETE FROM running WHERE {total} = 11")
    assert shell.run("SELECT * FROM running").sorted() == expected[:1]


def test_session_variables_are_assigned(shell: StockShell) -> None:
    """They are found where Spark looks for columns alone; a column of the name goes first."""
    shell.ok("CREATE TABLE sv (id INT, v INT)")
    shell.ok("INSERT INTO sv VALUES (1, 1), (2, 2)")
    shell.ok("DECLARE OR REPLACE VARIABLE four INT DEFAULT 4")
    shell.ok("DECLARE OR REPLACE VARIABLE id INT DEFAULT 9")
    shell.ok("UPDATE sv SET v = four + 1 WHERE id = 1")
    shell.ok("UPDATE sv SET v = id WHERE id = 2")
    assert shell.run("SELECT id, v FROM sv").sorted() == [("1", "5"), ("2", "2")]
    shell.ok(
        "MERGE INTO sv t USING (SELECT 2 AS k UNION ALL SELECT 3) s ON t.id = s.k "
        "WHEN MATCHED THEN UPDATE SET v = session.id "
        "WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.k, four)"
    )
    assert shell.run("SELECT sv.id, v FROM sv").sorted() == [("1", "5"), ("2", "9"), ("3", "4")]
    shell.ok("DROP TEMPORARY VARIABLE id")
    assert "UNRESOLVED_COLUMN" in str(shell.run("UPDATE sv SET v = five").error)


_TYPES = {
    "BOOLEAN": "true",
    "TINYINT": "1Y",
    "DOUBLE": "-0.0D",
    "DECIMAL(38, 10)": "0.5BD",
    "STRING": "'s'",
    "VARCHAR(5)": "'v'",
    "BINARY": "X'01'",
    "DATE": "DATE'2020-01-02'",
    "TIMESTAMP": "TIMESTAMP'2020-01-02 03:04:05.123456'",
    "TIME(6)": "TIME'01:02:03.123456'",
    "VARIANT": "parse_json('{\"a\":1}')",
}


def test_values_that_the_planner_answers(shell: StockShell) -> None:
    """A lookup by key and an exact MAX tell the same of every type as a scan does."""
    shell.ok("SET spark.sql.timeType.enabled = true")
    shell.ok(
        "CREATE TABLE lookup (id INT, t TIME, v VARIANT, s STRUCT<v: VARIANT, i: INT>, "
        "b STRUCT<value: BINARY NOT NULL, metadata: BINARY NOT NULL>, m MAP<STRING, TINYINT>, "
        "PRIMARY KEY (id) NOT ENFORCED)"
    )
    shell.ok(
        "INSERT INTO lookup VALUES (1, TIME'01:02:03', parse_json('1'), "
        """named_struct('v', parse_json('{"a":[1,2]}'), 'i', 1), """
        "named_struct('value', X'61', 'metadata', X'62'), map('k', NULL))"
    )
    row = shell.ok("SELECT * FROM lookup WHERE id > 0")
    assert shell.ok("SELECT * FROM lookup WHERE id = 1") == row
    taken = shell.ok("SELECT variant_get(s.v, '$.a[1]', 'int') FROM lookup WHERE id = 1")
    assert taken == (("2",),)
    assert shell.ok("SELECT max(t) FROM lookup") == (("01:02:03",),)


def test_a_long_value_that_the_planner_answers(shell: StockShell) -> None:
    """A condition on the key lets the planner read the row, whose text is some ten MB."""
    made = "string_agg(sha2(string(id), 512), '') AS s FROM range(250000)"
    shell.ok("CREATE TABLE long_value (k INT PRIMARY KEY, s STRING)")
    shell.ok(f"INSERT INTO long_value SELECT 1, {made}")
    found = shell.ok("SELECT length(s) AS n, md5(s) AS h FROM long_value WHERE k = 1")
    assert found == shell.ok(f"SELECT length(s) AS n, md5(s) AS h FROM (SELECT {made})")


@pytest.mark.parametrize(
    ("kind", "values", "left"),
    [
        ("TIME", ["TIME'01:02:03.5'", "NULL"], "NULL"),
        ("BINARY", ["X'61'", "X'62'"], "b"),
        ("DATE", ["DATE'-20000-01-01'", "DATE'2020-02-29'"], "2020-02-29"),
        ("TIMESTAMP_NTZ", ["TIMESTAMP_NTZ'+20000-01-01'", "NULL"], "NULL"),
        ("DECIMAL(9, 2)", ["1.25BD", "0BD"], "0.00"),
        ("BOOLEAN", ["true", "false"], "false"),
    ],
)
def test_a_partition_of_any_type_is_dropped(
    shell: StockShell, kind: str, values: list[str], left: str
) -> None:
    """The first goes by DROP PARTITION, which finds it among those that SHOW PARTITIONS tells."""
    shell.ok("SET spark.sql.timeType.enabled = true")
    shell.ok("DROP TABLE IF EXISTS parted")
    shell.ok(f"CREATE TABLE parted (p {kind}, n INT) PARTITIONED BY (p)")
    shell.ok("INSERT INTO parted VALUES " + ", ".join(f"({value}, 1)" for value in values))
    assert len(shell.ok("SHOW PARTITIONS parted")) == 2
    shell.ok(f"ALTER TABLE parted DROP PARTITION (p = {values[0]})")
    assert shell.ok("SELECT p FROM parted") == ((left,),)


_INTERPRETED = {
    "spark.table-store.answered-rows": "0",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""So Spark reads rows one by one, as it does where it cannot compile a plan."""


@pytest.mark.parametrize("settings", [{}, _INTERPRETED], ids=["compiled", "interpreted"])
@pytest.mark.parametrize("shape", ["with_key", "without_key"])
def test_row_level_statements_on_all_types(
    shell: StockShell, shape: str, settings: dict[str, str]
) -> None:
    """NULL at each level of each type: the rows stay what VALUES says."""
    shell.ok("SET spark.sql.timeType.enabled = true")
    for key, value in settings.items():
        shell.ok(f"SET {key} = {value}")
    columns, values = ["id INT"], [[str(i) for i in range(4)]]
    for name, literal in _TYPES.items():
        value, null = f"CAST({literal} AS {name})", f"CAST(NULL AS {name})"
        if name.startswith("VARCHAR"):
            value, null = literal, "CAST(NULL AS STRING)"
        for nested, cells in {
            "{}": [value],
            "STRUCT<a: {}, b: INT>": [f"named_struct('a', {v}, 'b', 1)" for v in (value, null)],
            "STRUCT<a: {} NOT NULL>": [f"named_struct('a', {value})"],
            "ARRAY<STRUCT<a: {}>>": [f"array(named_struct('a', {null}), NULL)", "array()"],
            "MAP<STRING, {}>": [f"map('k', {value}, 'l', {null})"],
        }.items():
            columns.append(f"c{len(columns)} {nested.format(name)}")
            values.append([([*cells, "NULL"] * 4)[(i + len(columns)) % 4] for i in range(4)])
    rows = ", ".join(f"({', '.join(row)}, 0)" for row in zip(*values, strict=True))
    table = f"all_types_{shape}_{len(settings)}"
    key = ", PRIMARY KEY (id) NOT ENFORCED" if shape == "with_key" else ""
    shell.ok(f"CREATE TABLE {table} ({', '.join(columns)}, n INT{key}) WITH ('bucket' = '3')")
    shell.ok(f"INSERT INTO {table} VALUES {rows}")
    expected = [row[:-1] for row in shell.run(f"SELECT * FROM VALUES {rows}").sorted()]
    shell.ok(f"UPDATE {table} SET n = n + 1 WHERE id < 3")
    shell.ok(f"DELETE FROM {table} WHERE id = 1")
    shell.ok(f"MERGE INTO {table} t {ON_ID} WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = n + 1")
    left = [(*expected[i], str(n)) for i, n in ((0, 2), (2, 2), (3, 1))]
    assert shell.run(f"SELECT * FROM {table}").sorted() == left
    names = [column.split()[0] for column in columns]
    fields = ", ".join(
        f"{name}.a" for name, c in zip(names, columns, strict=True) if " STRUCT" in c
    )
    written = f"VALUES {rows} AS t ({', '.join(names)}, n) WHERE id <> 1"
    found, expected_fields = (shell.run(f"SELECT {fields} FROM {of}") for of in (table, written))
    assert found.sorted() == expected_fields.sorted()
    for key in settings:
        shell.ok(f"RESET {key}")
    assert shell.ok(f"SELECT * FROM {table} WHERE id = 3") == tuple(left[2:])
    shell.ok(f"ALTER TABLE {table} COMPACT")
    assert shell.run(f"SELECT * FROM {table}").sorted() == left


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        (f"INSERT INTO bad {OP} SELECT 1, 'x', 'upsert' AS op", "INVALID_CHANGE_TYPE"),
        (f"INSERT INTO bad {OP} SELECT 1, 'x', NULL AS op", "INVALID_CHANGE_TYPE"),
        (f"INSERT INTO bad {OP} SELECT 1, 'x', 'insert' AS o", "INVALID_OPTION"),
        (f"INSERT OVERWRITE bad {OP} SELECT 1, 'x', 'insert' AS op", "INVALID_OPTION"),
        (
            "INSERT INTO bad WITH ('change-type-column' = 'v') SELECT 1, 'insert' AS v",
            "INVALID_OPTION",
        ),
        (f"INSERT INTO nowhere {OP} SELECT 1, 'x', 'insert' AS op", "NOT_FOUND"),
        ("INSERT INTO bad WITH ('change-typ-column' = 'op') SELECT 1, 'x'", "UNKNOWN_OPTION"),
    ],
)
def test_bad_change_types(shell: StockShell, statement: str, error: str) -> None:
    """What is wrong is said in one line, and nothing is written."""
    shell.ok("CREATE TABLE IF NOT EXISTS bad (id INT, v STRING)")
    said = shell.run(statement).error
    assert said.startswith(f"[TABLE_STORE_{error}]")
    assert "\n" not in said
    assert shell.ok("SELECT count(*) FROM bad") == (("0",),)


def test_computed_columns_in_every_insert(shell: StockShell) -> None:
    """They are never listed, whatever form the INSERT has; DEFAULTs fill what is left out."""
    shell.ok(
        "CREATE TABLE cc (id INT, ts TIMESTAMP, day AS date_format(ts, 'yyyy-MM-dd'), "
        "v INT DEFAULT 7, PRIMARY KEY (id) NOT ENFORCED) WITH ('bucket' = '2')"
    )
    ts = "TIMESTAMP '2024-01-02 03:04:05'"
    shell.ok(f"INSERT INTO cc BY NAME SELECT {ts} AS ts, 1 AS id")
    shell.ok(f"INSERT INTO cc VALUES (2, {ts}, DEFAULT), (3, NULL, 1)")
    shell.ok("INSERT INTO cc (id) VALUES (4)")
    shell.ok("INSERT INTO cc REPLACE WHERE id = 3 SELECT 3, TIMESTAMP '2025-01-01 00:00:00', 8")
    assert shell.run("SELECT id, day, v FROM cc").sorted() == [
        ("1", "2024-01-02", "7"),
        ("2", "2024-01-02", "7"),
        ("3", "2025-01-01", "8"),
        ("4", "NULL", "7"),
    ]
    shell.ok(f"INSERT OVERWRITE cc SELECT 1, {ts}, 5")
    assert shell.ok("SELECT id, day, v FROM cc") == (("1", "2024-01-02", "5"),)


def test_computed_columns_in_merge(shell: StockShell) -> None:
    """`SET *` and `INSERT *` need none in the source, and computed values win over given ones."""
    shell.ok("CREATE TABLE cm (id INT, n INT, twice AS n * 2, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO cm VALUES (1, 1), (2, 2)")
    for number, columns in ((1, "1 AS id, 10 AS n"), (3, "3 AS id, 30 AS n, -1 AS twice")):
        shell.ok(
            f"MERGE INTO cm t USING (SELECT {columns}) s ON t.id = s.id AND s.id = {number} "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
    shell.ok(
        "MERGE INTO cm t USING (SELECT 4 AS id, 40 AS n) s ON t.id = s.id AND t.twice > 0 "
        "WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, s.n)"
    )
    assert shell.run("SELECT * FROM cm").sorted() == [
        ("1", "10", "20"),
        ("2", "2", "4"),
        ("3", "30", "60"),
        ("4", "40", "80"),
    ]


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["without", "with"])
def test_a_merge_assigns_fields_of_structs(shell: StockShell, key: str) -> None:
    """Also where types are settled late, as a lambda's are; the extension of Delta is loaded."""
    shell.ok(
        f"CREATE TABLE mf (id INT, s STRUCT<a: INT, b: STRING, t: STRUCT<c: INT, d: INT>>{key})"
    )
    shell.ok(
        "INSERT INTO mf VALUES (2, NULL), (3, named_struct('a', 3, 'b', 'z', 't', NULL)), "
        "(1, named_struct('a', 1, 'b', 'x', 't', named_struct('c', 1, 'd', 2)))"
    )
    source = "(SELECT id, named_struct('a', 10 * id, 'b', 'q') AS s FROM VALUES (1), (2) AS v(id))"
    shell.ok(
        f"MERGE INTO mf AS t USING {source} AS q ON t.id = q.id "
        "WHEN MATCHED AND exists(array(q.s.a), x -> x > 1L) "
        "THEN UPDATE SET s.t.d = q.s.a + 1, t.S.a = coalesce(t.s.a, -1) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET s.b = 'lost'"
    )
    assert shell.run("SELECT id, s.a, s.b, s.t.c, s.t.d FROM mf").sorted() == [
        ("1", "1", "x", "1", "11"),
        ("2", "-1", "NULL", "NULL", "21"),
        ("3", "3", "lost", "NULL", "NULL"),
    ]
    for fields, error in (
        ("s.a = 1, s = q.s", "INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS"),
        ("s.none = 1", "FIELD_NOT_FOUND"),
        ("s.a = 'text'", "CANNOT_SAFELY_CAST"),
    ):
        said = shell.run(
            f"MERGE INTO mf AS t USING {source} AS q ON t.id = q.id "
            f"WHEN MATCHED THEN UPDATE SET {fields}"
        ).error
        assert error in said, said
    shell.ok("DROP TABLE mf")


@pytest.mark.parametrize("key", ["", ", PRIMARY KEY (id) NOT ENFORCED"], ids=["without", "with"])
def test_a_merge_deletes_a_row_and_inserts_its_key(shell: StockShell, key: str) -> None:
    """What is inserted stays, whichever of the two comes first in the source.

    A condition beyond the key lets one source row delete the row of a key, and another one, which
    matches nothing, insert that key again.
    """
    table = f"gone_and_back{len(key)}"
    shell.ok(f"CREATE TABLE {table} (id INT, v STRING{key})")
    for statement, rows in (
        (f"INSERT INTO {table} VALUES (1, 'old'), (2, 'old'), (3, 'stays')", "old"),
        *(
            (
                (
                    f"MERGE INTO {table} t USING (SELECT * FROM VALUES {order} AS s(id, v, gone)) s"
                    " ON s.gone AND t.id = s.id WHEN MATCHED THEN DELETE "
                    "WHEN NOT MATCHED AND NOT s.gone THEN INSERT (id, v) VALUES (s.id, s.v)"
                ),
                value,
            )
            for order, value in (
                ("(1, 'a', false), (2, 'a', false), (1, '', true), (2, '', true)", "a"),
                ("(1, '', true), (2, '', true), (1, 'b', false), (2, 'b', false)", "b"),
            )
        ),
    ):
        shell.ok(statement)
        left = [("1", rows), ("2", rows), ("3", "stays")]
        assert shell.run(f"SELECT * FROM {table}").sorted() == left


def test_computed_key_column_moves_its_row(shell: StockShell) -> None:
    """A key column computed from another follows it, and leaves no row behind."""
    shell.ok(
        "CREATE TABLE ck (ts TIMESTAMP, day AS date_format(ts, 'yyyy-MM-dd'), id INT, "
        "PRIMARY KEY (day, id) NOT ENFORCED) PARTITIONED BY (day)"
    )
    shell.ok(
        "INSERT INTO ck VALUES (TIMESTAMP '2024-01-02 03:04:05', 1), "
        "(TIMESTAMP '2024-01-03 03:04:05', 2)"
    )
    shell.ok("UPDATE ck SET ts = TIMESTAMP '2025-05-05 00:00:00' WHERE id = 1")
    shell.ok(
        "MERGE INTO ck t USING (SELECT id, TIMESTAMP '2030-01-01 00:00:00' AS ts FROM range(2, 4)) "
        "s ON t.id = s.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert shell.run("SELECT day, id FROM ck").sorted() == [
        ("2025-05-05", "1"),
        ("2030-01-01", "2"),
        ("2030-01-01", "3"),
    ]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE refuse SET twice = 1",
        "INSERT INTO refuse (id, twice) VALUES (1, 1)",
        "INSERT OVERWRITE refuse PARTITION (twice = 2) (id) VALUES (1)",
        "INSERT INTO refuse PARTITION (twice) VALUES (1)",
        f"MERGE INTO refuse t {ON_ID} WHEN MATCHED THEN UPDATE SET twice = 2",
        f"MERGE INTO refuse t {ON_ID} WHEN NOT MATCHED THEN INSERT (id, twice) VALUES (s.id, 1)",
    ],
)
def test_computed_columns_are_never_assigned(shell: StockShell, statement: str) -> None:
    """Naming one says which it is and how it is computed."""
    shell.ok("CREATE TABLE IF NOT EXISTS refuse (id INT, twice AS id * 2) PARTITIONED BY (twice)")
    said = shell.run(statement).error
    assert said.startswith("[TABLE_STORE_COMPUTED_COLUMN] Column 'twice' is computed as id * 2")
    assert "\n" not in said


def test_replace_where(shell: StockShell) -> None:
    """Rows of the condition go, those of the query come, and these must satisfy it too."""
    shell.ok("CREATE TABLE rw (id INT, d DATE, c AS id * 2, y AS year(d)) PARTITIONED BY (y)")
    shell.ok("INSERT INTO rw SELECT id, make_date(2020 + id % 2, 1, 1) FROM range(6)")
    rows = "SELECT id, year(d), c FROM rw"
    shell.ok("INSERT INTO rw REPLACE WHERE c = 4 SELECT 2, DATE'2022-05-05'")
    shell.ok("INSERT INTO rw REPLACE WHERE y = 2021 SELECT 100, DATE'2021-05-05'")
    shell.ok("INSERT INTO rw REPLACE WHERE id > 2 AND y = 2020 SELECT 9, DATE'2020-02-01'")
    expected = [("0", "2020", "0"), ("100", "2021", "200"), ("2", "2022", "4"), ("9", "2020", "18")]
    assert shell.run(rows).sorted() == expected
    for bad in [
        "c = 4 SELECT 3, DATE'2020-01-01'",
        "y = 2021 SELECT 101, DATE'2022-05-05'",
        "id = 0 VALUES (0, NULL), (7, NULL)",
        "id > 5 SELECT NULL, DATE'2020-02-01'",
    ]:
        refused = shell.run(f"INSERT INTO rw REPLACE WHERE {bad}")
        assert "[TABLE_STORE_ROW_OUTSIDE_REPLACE_CONDITION]" in refused.error
        assert "\tat " not in refused.error
    refused = shell.run("INSERT INTO rw REPLACE WHERE id % 2 = 0 SELECT 8, NULL")
    assert "[TABLE_STORE_UNSUPPORTED_REPLACE_CONDITION]" in refused.error
    assert shell.run(rows).sorted() == expected
    shell.ok("INSERT INTO rw REPLACE WHERE d IS NULL OR id = 0 SELECT 1, NULL")
    assert shell.run(rows).sorted() == [("1", "NULL", "2"), *expected[1:]]


def test_days_that_python_does_not_have(shell: StockShell) -> None:
    """Dates and timestamps beyond the years 1 to 9999 in conditions, bounds and statements."""
    shell.ok("CREATE TABLE far (id INT, t TIMESTAMP, d DATE)")
    shell.ok(
        "INSERT INTO far VALUES (1, TIMESTAMP'+200000-01-01', DATE'+200000-01-01'), "
        "(2, TIMESTAMP'-9999-01-01', DATE'-9999-01-01'), (3, NULL, DATE'2020-01-01')"
    )
    assert shell.ok("SELECT max(d), year(min(t)) FROM far") == (("+200000-01-01", "-9999"),)
    assert shell.ok("SELECT id FROM far WHERE d = DATE'+200000-01-01'") == (("1",),)
    assert shell.ok("SELECT id FROM far WHERE t < TIMESTAMP'+100000-01-01'") == (("2",),)
    shell.ok("DELETE FROM far WHERE d IN (DATE'-9999-01-01', DATE'+99999-01-01')")
    assert shell.run("SELECT id FROM far").sorted() == [("1",), ("3",)]
    shell.ok("CREATE TABLE far_parts (id INT, d DATE) PARTITIONED BY (d)")
    refused = shell.run("ALTER TABLE far_parts PARTITION (d = '99999999999999999999') COMPACT")
    assert "[CAST_INVALID_INPUT]" in refused.error


def test_dates_that_are_no_timestamps(shell: StockShell) -> None:
    """Who reads such a date under its column's new type is told, and how to go on."""
    shell.ok("CREATE TABLE later_ntz (id INT, d DATE)")
    shell.ok("INSERT INTO later_ntz VALUES (1, date_add(DATE'1970-01-01', 2000000000))")
    shell.ok("ALTER TABLE later_ntz ALTER COLUMN d TYPE TIMESTAMP_NTZ")
    for statement in ("SELECT * FROM later_ntz", "SELECT id FROM later_ntz WHERE d > '2000-01-01'"):
        said = shell.run(statement).error
        assert said.startswith("[TABLE_STORE_VALUE_OUT_OF_RANGE] Column 'd' was DATE when file")
        assert "\n" not in said
    shell.ok(
        "INSERT OVERWRITE later_ntz SELECT id, IF(d < DATE'+290000-01-01', d, NULL) "
        "FROM later_ntz VERSION AS OF 1"
    )
    assert shell.ok("SELECT * FROM later_ntz") == (("1", "NULL"),)


def test_defaults_that_python_does_not_have(shell: StockShell) -> None:
    """Rows that exist get them; conditions and changes see them."""
    shell.ok("CREATE TABLE far_default (id INT)")
    shell.ok("INSERT INTO far_default VALUES (1)")
    shell.ok("ALTER TABLE far_default ADD COLUMN d DATE DEFAULT DATE'+10000-01-01'")
    moment = "TIMESTAMP'9999-12-31 23:59:59 America/New_York'"
    shell.ok(f"ALTER TABLE far_default ADD COLUMN t TIMESTAMP DEFAULT {moment}")
    shell.ok(
        "ALTER TABLE far_default ADD COLUMN n TIMESTAMP_NTZ DEFAULT TIMESTAMP_NTZ'-0044-03-15'"
    )
    wanted = (("1", "+10000-01-01", "true", "-0044-03-15 00:00:00"),)
    for table in ("far_default", "far_default CHANGES FROM VERSION 1"):
        assert shell.ok(f"SELECT id, d, t = {moment}, n FROM {table}") == wanted
    shell.ok("INSERT INTO far_default (id) VALUES (2)")
    for condition, rows in (
        (f"d = DATE'+10000-01-01' AND t = {moment} AND year(n) = -44", "2"),
        ("d < DATE'+10000-01-01'", "0"),
        (f"t > {moment}", "0"),
        ("n < TIMESTAMP_NTZ'0001-01-01'", "2"),
    ):
        assert shell.ok(f"SELECT count(*) FROM far_default WHERE {condition}") == ((rows,),)
    shell.ok("ALTER TABLE far_default ADD COLUMN a ARRAY<INT>")
    said = shell.run("ALTER TABLE far_default ADD COLUMN b ARRAY<INT> DEFAULT array(1, 2)").error
    assert "rows that exist cannot get a default of the nested type ARRAY<INT>" in said
    shell.ok("ALTER TABLE far_default ALTER COLUMN a SET DEFAULT array(1, 2)")
    shell.ok("INSERT INTO far_default (id) VALUES (3)")
    assert shell.ok("SELECT a FROM far_default WHERE id > 1 ORDER BY id") == (("NULL",), ("[1,2]",))


def test_days_that_the_julian_calendar_skipped(shell: StockShell) -> None:
    """Spark's calendar is Gregorian throughout: it has the ten days before 15 October 1582."""
    shell.ok("CREATE TABLE skipped (id INT, d DATE, t TIMESTAMP)")
    shell.ok("INSERT INTO skipped VALUES (1, DATE'1582-10-10', TIMESTAMP'1582-10-10 12:00:00')")
    for condition in (
        "d = DATE'1582-10-10'",
        "d BETWEEN DATE'1582-10-09' AND DATE'1582-10-11'",
        "t = TIMESTAMP'1582-10-10 12:00:00'",
        "CAST(t AS DATE) = DATE'1582-10-10'",
    ):
        assert shell.ok(f"SELECT id FROM skipped WHERE {condition}") == (("1",),), condition


def test_change_tracking_is_recorded(shell: StockShell) -> None:
    """An INSERT that is a correction says so in its snapshot."""
    shell.ok("CREATE TABLE tracked (id INT)")
    shell.ok("INSERT INTO tracked VALUES (1)")
    shell.ok("INSERT INTO tracked /*+ OPTIONS('change-tracking' = 'false') */ VALUES (2)")
    shell.ok("INSERT INTO tracked SELECT id FROM range(3)")
    folder = shell.tables / "tracked" / "snapshot"
    written = [json.loads((folder / f"snapshot-{i}").read_text()) for i in (1, 2, 3)]
    assert [snapshot["changeTracking"] for snapshot in written] == [True, False, True]
    listed = shell.ok("SELECT change_tracking FROM `tracked$snapshots` ORDER BY snapshot_id")
    assert listed == (("true",), ("false",), ("true",))


@pytest.mark.parametrize(
    "columns",
    ["a INT", "a INT, PRIMARY KEY (a)", "a INT) PARTITIONED BY (a"],
    ids=["bag", "key", "partitioned"],
)
@pytest.mark.parametrize(
    ("statement", "left"),
    [
        ("DELETE FROM emptied", 0),
        ("DELETE FROM emptied WHERE true", 0),
        ("DELETE FROM emptied WHERE false", 3),
        ("TRUNCATE TABLE emptied", 0),
        ("INSERT INTO emptied REPLACE WHERE true VALUES (9)", 1),
    ],
)
def test_all_rows(shell: StockShell, columns: str, statement: str, left: int) -> None:
    shell.ok(f"CREATE OR REPLACE TABLE emptied ({columns})")
    shell.ok("INSERT INTO emptied VALUES (1), (2), (3)")
    shell.ok(statement)
    assert shell.ok("SELECT count(*) FROM emptied") == ((str(left),),)
    shell.ok("INSERT INTO emptied VALUES (10)")
    assert shell.ok("SELECT count(*) FROM emptied") == ((str(left + 1),),)


def test_a_statement_that_fails_leaves_no_files(shell: StockShell) -> None:
    """Its other tasks have written theirs when the last one meets the row that is refused."""
    shell.ok("CREATE TABLE refusing (id BIGINT)")
    late = "reflect('java.lang.Thread', 'sleep', 3000L)"
    said = shell.run(
        f"INSERT INTO refusing SELECT if(id = 199999, raise_error('no such row' || {late}), id) "
        "FROM range(0, 200000, 1, 3)"
    ).error
    assert "no such row" in said
    assert "Traceback" not in said
    assert [*shell.location("refusing").rglob("*.parquet")] == []
    assert shell.ok("SELECT count(*) FROM refusing") == (("0",),)
