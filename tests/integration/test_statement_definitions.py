"""Tables of every type, SHOW CREATE TABLE and its kin, and what is refused, in the stock shell."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark

VALUES = {
    "b": ("BOOLEAN", "true", "true"),
    "t": ("TINYINT", "-1Y", "-1"),
    "s": ("SMALLINT", "2S", "2"),
    "l": ("BIGINT", "5000000000", "5000000000"),
    "f": ("FLOAT", "1.5F", "1.5"),
    "d": ("DOUBLE", "-2.5D", "-2.5"),
    "de": ("DECIMAL(38,10)", "1234567890123456789012345678.0123456789BD", None),
    "ds": ("DECIMAL(9,2)", "1.25BD", "1.25"),
    "st": ("STRING", "'é😀'", "é😀"),
    "bi": ("BINARY", "X'4142'", "AB"),
    "da": ("DATE", "DATE'1899-12-31'", "1899-12-31"),
    "ts": ("TIMESTAMP", "TIMESTAMP'2024-01-02 03:04:05.678901'", "2024-01-02 03:04:05.678901"),
    "tn": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2024-01-02 03:04:05'", "2024-01-02 03:04:05"),
    "tm": ("TIME", "TIME'10:11:12.5'", "10:11:12.5"),
    "ch": ("CHAR(5)", "'ab'", "ab   "),
    "vc": ("VARCHAR(5)", "'abc'", "abc"),
    "ar": ("ARRAY<INT>", "array(1, NULL)", "[1,null]"),
    "ma": ("MAP<STRING, ARRAY<INT>>", "map('k', array(1, 2))", '{"k":[1,2]}'),
    "su": (
        "STRUCT<a: INT, b: STRUCT<c: STRING, d: TIME>>",
        "named_struct('a', 1, 'b', named_struct('c', 'x', 'd', TIME'01:02:03'))",
        '{"a":1,"b":{"c":"x","d":01:02:03}}',
    ),
    "va": ("VARIANT", """parse_json('{"a":[1,2]}')""", '{"a":[1,2]}'),
}
ORDERED = [name for name in VALUES if name not in ("ar", "ma", "su", "va")]


@pytest.fixture
def has_time_type(shell: StockShell) -> Iterator[None]:
    """TIME can be used; a definition made meanwhile keeps the setting."""
    shell.ok("SET spark.sql.timeType.enabled = true")
    yield
    shell.ok("RESET spark.sql.timeType.enabled")


@pytest.mark.usefixtures("has_time_type")
@pytest.mark.parametrize("keyed", [True, False])
def test_every_type(shell: StockShell, keyed: bool) -> None:
    """Raw and merged reads give back what was written, NULLs included."""
    name = "ty_key" if keyed else "ty_bag"
    columns = ", ".join(f"{column} {kind}" for column, (kind, _, _) in VALUES.items())
    key = ", PRIMARY KEY (id) NOT ENFORCED" if keyed else ""
    shell.ok(f"CREATE TABLE {name} (id INT, {columns}{key})")
    literals = ", ".join(literal for _, literal, _ in VALUES.values())
    nulls = ", ".join("NULL" for _ in VALUES)
    shell.ok(f"INSERT INTO {name} VALUES (1, {literals}), (2, {nulls})")
    full = ("1", *(shown or literal[:-2] for _, literal, shown in VALUES.values()))
    empty = ("2", *("NULL" for _ in VALUES))
    assert shell.run(f"SELECT * FROM {name}").sorted() == [full, empty]
    rest = ", ".join(VALUES)
    shell.ok(f"INSERT INTO {name} SELECT id + 1, {rest} FROM {name} WHERE id = 1 OR l IS NULL")
    merged = shell.run(f"SELECT * FROM {name} WHERE id > 1").sorted()
    wanted = [("2", *full[1:]), ("3", *empty[1:])]
    assert merged == (wanted if keyed else sorted([*wanted, empty]))
    assert len(shell.ok(f"SELECT va, su FROM {name} WHERE de > 1")) == 2
    if keyed:
        shell.ok(f"DELETE FROM {name} WHERE ts IS NULL")
        assert shell.ok(f"SELECT count(*) FROM {name}") == (("2",),)


@pytest.mark.usefixtures("has_time_type")
@pytest.mark.parametrize("form", ["PRIMARY KEY (id) NOT ENFORCED", "", "USING parquet"])
def test_defaults_of_every_type(shell: StockShell, form: str) -> None:
    """Rows have the defaults of what their statement leaves out, and of columns that come later.

    Spark reads the files itself, for which it has its own text of each default.
    """
    shell.ok("SET spark.table-store.answered-rows = 0")
    foreign = form.startswith("USING")
    left = ("tm", "de", "bi") if foreign else ()  # Spark's own scan fails with those defaults
    values = {name: VALUES[name] for name in ORDERED if name not in left}
    columns = [f"{name} {kind} DEFAULT {value}" for name, (kind, value, _) in values.items()]
    name = f"def_{len(form)}"
    key = f", {form}" if form and not foreign else ""
    row = tuple(shown or value[:-2] for _, value, shown in values.values())
    shell.ok(f"CREATE TABLE {name} (id INT, {', '.join(columns)}{key}) {form if foreign else ''}")
    shell.ok(f"INSERT INTO {name} (id) VALUES (1)")
    assert shell.ok(f"SELECT * FROM {name}") == (("1", *row),)
    for column in columns:
        shell.ok(f"ALTER TABLE {name} ADD COLUMN later_{column}")
    shell.ok(f"INSERT INTO {name} (id) VALUES (2)")
    wanted = [(number, *row, *row) for number in ("1", "2")]
    assert shell.run(f"SELECT * FROM {name}").sorted() == wanted
    for column, value in zip(values, row, strict=True):
        text = f"SELECT {column}, later_{column} FROM {name} WHERE id = 1"
        assert shell.ok(text) == ((value, value),), column
    shell.ok("RESET spark.table-store.answered-rows")


@pytest.mark.usefixtures("has_time_type")
def test_keys_of_every_orderable_type(shell: StockShell) -> None:
    """The newest row of a key wins, whatever the key's type."""
    for column in ORDERED:
        kind, literal, _ = VALUES[column]
        table = f"key_{column}"
        shell.ok(f"CREATE TABLE {table} (k {kind}, v INT, PRIMARY KEY (k) NOT ENFORCED)")
        shell.ok(f"INSERT INTO {table} VALUES ({literal}, 1), ({literal}, 2)")
        shell.ok(f"INSERT INTO {table} VALUES ({literal}, 3)")
        assert shell.ok(f"SELECT v FROM {table} WHERE k = {literal}") == (("3",),), kind


def test_collated_columns_compare_as_they_say(shell: StockShell) -> None:
    """A collation is Spark's to apply; files and row groups are not skipped by bytes."""
    shell.ok("CREATE TABLE co (id INT, s STRING COLLATE UTF8_LCASE)")
    shell.ok("INSERT INTO co VALUES (1, 'Abc'), (2, 'abc'), (3, 'x')")
    assert shell.run("SELECT id FROM co WHERE s = 'ABC'").sorted() == [("1",), ("2",)]


def test_a_default_collation_is_that_of_columns_without_one(shell: StockShell) -> None:
    """Also of those that come later; the statement that is shown gives each column its own."""
    columns = "s STRING, b STRING COLLATE UTF8_BINARY, u STRING COLLATE UNICODE, a ARRAY<STRING>"
    shell.ok(f"CREATE TABLE dc ({columns}) DEFAULT COLLATION UTF8_LCASE")
    shell.ok("INSERT INTO dc VALUES ('a', 'a', 'a', array('a')), ('A', 'A', 'A', array('A'))")
    for condition, rows in (("s = 'A'", 2), ("b = 'A'", 1), ("a = array('A')", 2)):
        assert len(shell.ok(f"SELECT * FROM dc WHERE {condition}")) == rows, condition
    shell.ok("ALTER TABLE dc ADD COLUMN later STRING")
    types = {row[0].strip(): row[1] for row in shell.ok("DESCRIBE dc")}
    assert types["later"] == types["s"] == "string collate UTF8_LCASE"
    shown = "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE dc"))
    shell.ok(shown.replace(".dc (", ".dc_again ("))
    assert {row[0].strip(): row[1] for row in shell.ok("DESCRIBE dc_again")} == types


def test_clauses_that_say_what_an_option_says(shell: StockShell) -> None:
    columns = "(id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)"
    shell.ok(f"CREATE TABLE clustered {columns} CLUSTERED BY (id) INTO 3 BUCKETS")
    (statement,) = ("\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE clustered")),)
    assert "'bucket' = '3'" in statement
    for refused in (
        f"{columns} CLUSTERED BY (v) INTO 3 BUCKETS",
        f"{columns} CLUSTERED BY (id) SORTED BY (v) INTO 3 BUCKETS",
        f"{columns} CLUSTERED BY (id) INTO 3 BUCKETS WITH ('bucket' = '4')",
        "(id INT) CLUSTERED BY (id) INTO 3 BUCKETS",
    ):
        assert "TABLE_STORE_INVALID" in shell.run(f"CREATE TABLE not_clustered {refused}").error


def test_properties_of_others_are_kept(shell: StockShell) -> None:
    """What could be an option that is mistyped is not."""
    shell.ok("CREATE TABLE others (id INT) TBLPROPERTIES ('some.tool' = 'x', 'note' = 'y')")
    shell.ok("ALTER TABLE others SET TBLPROPERTIES ('another.tool' = 'z')")
    shell.ok("ALTER TABLE others UNSET TBLPROPERTIES ('note')")
    kept = {row[0].strip(): row[1].strip() for row in shell.ok("SHOW TBLPROPERTIES others")}
    assert kept == {"some.tool": "x", "another.tool": "z"}
    said = shell.run("ALTER TABLE others SET TBLPROPERTIES ('log.retentiom' = '1 d')").error
    assert "log.retention" in said


def test_an_index_is_refused_without_a_trace(shell: StockShell) -> None:
    shell.ok("CREATE TABLE unindexed (id INT)")
    for statement in ("CREATE INDEX i ON unindexed (id)", "DROP INDEX i ON unindexed"):
        said = shell.run(statement).error
        assert "[UNSUPPORTED_FEATURE.TABLE_OPERATION]" in said
        assert "\tat " not in said


SHOWN = """CREATE TABLE table_store.{}.`sh``o'w` (
  id INT NOT NULL,
  ts TIMESTAMP COMMENT 'it\\'s \\\\',
  day AS date_format(ts, 'yyyy-MM-dd') COMMENT 'the day',
  `d.v` DECIMAL(10,2) DEFAULT 7.5,
  ch char(5),
  s STRING COLLATE UTF8_LCASE,
  n STRUCT<a: INT COMMENT 'it\\'s', `b c`: ARRAY<STRING COLLATE UNICODE_CI>, v: varchar(3)>,
  WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS,
  CONSTRAINT `k k` PRIMARY KEY (id, day) NOT ENFORCED)
COMMENT 'a "table"\\nof two lines'
PARTITIONED BY (day)
WITH (
  'bucket' = '2',
  'log.kafka.x' = 'a\\'b\\\\')"""


def test_show_create_table_runs_back(shell: StockShell) -> None:
    """Every clause of a table is there, hostile names and values included."""
    definition = SHOWN.format(shell.namespace)
    shell.ok(definition)
    assert "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE `sh``o'w`")) == definition
    shell.ok("CREATE TABLE copy_of LIKE `sh``o'w`")
    copied = "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE copy_of"))
    of_the_table = definition.replace("COMMENT 'a \"table\"\\nof two lines'\n", "")
    assert copied == of_the_table.replace("`sh``o'w`", "copy_of")
    shell.ok("INSERT INTO `sh``o'w` SELECT 1, TIMESTAMP'2024-05-06 00:00:00', 2, 'a', 'b', NULL")
    shell.ok("UPDATE `sh``o'w` SET `d.v` = 3")
    assert shell.ok("SELECT day, `d.v` FROM `sh``o'w` WHERE s = 'B'") == (("2024-05-06", "3.00"),)
    described = {row[0].strip(): row[1].strip() for row in shell.ok("DESCRIBE copy_of")}
    assert described["ch"] == "char(5)"
    shell.ok("CREATE TEMPORARY TABLE of_session (id INT)")
    (shown, *_) = shell.ok("SHOW CREATE TABLE of_session")[0]
    assert shown == "CREATE TEMPORARY TABLE of_session ("
    shell.ok("DROP TEMPORARY TABLE of_session")


def test_a_table_like_what_is_no_managed_table(shell: StockShell) -> None:
    """Columns are copied; the properties of views and of other formats are none of ours."""
    shell.ok("CREATE VIEW seen AS SELECT 1 AS id")
    shell.ok("CREATE TABLE other_format (id INT) USING parquet TBLPROPERTIES ('k' = 'v')")
    for source in ("seen", "other_format"):
        shell.ok(f"CREATE TABLE like_{source} LIKE {source}")
        shell.ok(f"INSERT INTO like_{source} VALUES (1)")
        assert shell.ok(f"SELECT * FROM like_{source} VERSION AS OF 1") == (("1",),)


def test_alter_below_a_column_with_lengths_and_collations(shell: StockShell) -> None:
    """What Spark notes of a column's type follows every change inside of it."""
    shell.ok("CREATE TABLE inner_of (c STRING COLLATE UNICODE_CI, s STRUCT<q: VARCHAR(3), r: INT>)")
    shell.ok("INSERT INTO inner_of VALUES ('Ab', named_struct('q', 'abc', 'r', 1))")
    shell.ok("ALTER TABLE inner_of RENAME COLUMN c TO d")
    shell.ok("ALTER TABLE inner_of ADD COLUMN s.w STRING")
    shell.ok("ALTER TABLE inner_of RENAME COLUMN s.q TO z")
    shell.ok("ALTER TABLE inner_of DROP COLUMN s.r")
    shell.ok("INSERT INTO inner_of VALUES ('aB', named_struct('z', 'def', 'w', 'long'))")
    said = shell.run("INSERT INTO inner_of VALUES ('a', named_struct('z', 'long', 'w', 'b'))").error
    assert said.startswith("[EXCEED_LIMIT_LENGTH]")
    found = shell.run("SELECT s.z, s.w FROM inner_of WHERE d = 'AB'").sorted()
    assert found == [("abc", "NULL"), ("def", "long")]


def test_replaced_columns_keep_the_values_of_their_names(shell: StockShell) -> None:
    shell.ok("CREATE TABLE newer (id INT, a STRING, b INT)")
    shell.ok("INSERT INTO newer VALUES (1, 'x', 7)")
    shell.ok("ALTER TABLE newer REPLACE COLUMNS (a STRING COMMENT 'first', c INT, ID BIGINT)")
    assert shell.ok("SELECT * FROM newer") == (("x", "NULL", "1"),)
    assert [cell.strip() for cell in shell.ok("DESCRIBE newer")[0]] == ["a", "string", "first"]
    said = shell.run("ALTER TABLE newer REPLACE COLUMNS (a INT)").error
    assert "at column 'a': STRING cannot become INT" in said
    shell.ok("ALTER TABLE newer REPLACE COLUMNS (z INT)")
    assert shell.ok("SELECT * FROM newer") == (("NULL",),)


def test_a_write_may_bring_columns(shell: StockShell) -> None:
    """WITH SCHEMA EVOLUTION adds what the source has more, and widens types, never narrows one."""
    shell.ok("CREATE TABLE grows (id INT, v INT, d AS id * 2, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO grows VALUES (1, 1), (2, 2)")
    shell.ok("CREATE TEMPORARY VIEW more AS SELECT 2 AS id, 5000000000 AS v, 'x' AS w")
    merge = (
        "MERGE WITH SCHEMA EVOLUTION INTO grows USING {} AS s ON grows.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    shell.ok(merge.format("more"))
    shell.ok(merge.format("(SELECT 3L AS id, 7 AS v, 'y' AS w)"))
    shell.ok("INSERT WITH SCHEMA EVOLUTION INTO grows BY NAME SELECT 4 AS id, 8 AS v, true AS z")
    shell.ok("DROP VIEW more")
    found = shell.run("SELECT id, v, d, w, z FROM grows").sorted()
    assert found == [
        ("1", "1", "2", "NULL", "NULL"),
        ("2", "5000000000", "4", "x", "NULL"),
        ("3", "7", "6", "y", "NULL"),
        ("4", "8", "8", "NULL", "true"),
    ]


def test_system_tables_and_settings(shell: StockShell) -> None:
    """Both spellings, also without the namespace; SET shows and refuses."""
    shell.ok("CREATE TABLE sys_of (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO sys_of /*+ OPTIONS('change-tracking' = 'false') */ VALUES (1)")
    for name in ("`sys_of$snapshots`", "sys_of.snapshots", f"{shell.namespace}.sys_of.snapshots"):
        assert shell.ok(f"SELECT snapshot_id, commit_kind FROM {name}") == (("1", "APPEND"),)
    for system in ("schemas", "options", "manifests", "files", "partitions", "buckets"):
        shell.ok(f"SELECT * FROM sys_of.{system}")
    assert shell.ok("SET 'execution.runtime-mode' = 'batch'")
    assert shell.ok("SET 'execution.runtime-mode'") == (("execution.runtime-mode", "batch"),)
    shell.ok("RESET 'execution.runtime-mode'")
    assert shell.ok("EXPLAIN ALTER TABLE sys_of COMPACT")[1][0] == "Execute TableStore Compact"


def test_catalogs(shell: StockShell) -> None:
    """CREATE CATALOG makes one with a warehouse of its own."""
    other = shell.folder / "other-warehouse"
    shell.ok(
        f"CREATE CATALOG other WITH ('type' = 'table-store', 'warehouse' = '{other}', "
        "'metastore' = 'table-store', 'uri' = 'http://localhost:8188', "
        "'consistency' = 'RepeatableRead')"
    )
    shell.ok("USE CATALOG other")
    shell.ok("CREATE TABLE there (a INT)")
    shell.ok("USE CATALOG table_store")
    shell.ok(f"USE {shell.namespace}")
    shell.ok("INSERT INTO other.default.there VALUES (1)")
    assert shell.ok("SELECT * FROM other.default.there") == (("1",),)
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM there").error
    again = shell.run("CREATE CATALOG other WITH ('warehouse' = '/x')").error
    assert "ALREADY_EXISTS" in again
    assert "DROP CATALOG" in again
    assert "TABLE_STORE_CATALOG_IN_USE" in shell.run("DROP CATALOG table_store").error
    shell.ok("USE CATALOG other")
    assert "TABLE_STORE_CATALOG_IN_USE" in shell.run("DROP CATALOG other").error
    shell.ok("USE CATALOG table_store")
    shell.ok(f"USE {shell.namespace}")
    shell.ok("DROP CATALOG other")
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM other.default.there").error
    assert "TABLE_STORE_NOT_FOUND" in shell.run("DROP CATALOG other").error
    shell.ok("DROP CATALOG IF EXISTS other")
    another = shell.folder / "another-warehouse"
    shell.ok(f"CREATE CATALOG other WITH ('type' = 'table-store', 'warehouse' = '{another}')")
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM other.default.there").error
    shell.ok("DROP CATALOG other")
    shell.ok(f"CREATE CATALOG other WITH ('type' = 'table-store', 'warehouse' = '{other}')")
    assert shell.ok("SELECT * FROM other.default.there") == (("1",),)


REFUSED = [
    ("CREATE TABLE no (a INTERVAL DAY)", "[TABLE_STORE_UNSUPPORTED_TYPE] Type interval day"),
    ("CREATE TABLE no AS SELECT NULL AS a", "[TABLE_STORE_UNSUPPORTED_TYPE] Type void"),
    ("CREATE TABLE no (a INT, PRIMARY KEY (b) NOT ENFORCED)", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("CREATE TABLE no (a INT, PRIMARY KEY (a, a) NOT ENFORCED)", "[TABLE_STORE_INVALID_SCHEMA]"),
    (
        "CREATE TABLE no (a INT, b INT, PRIMARY KEY (a) NOT ENFORCED) PARTITIONED BY (b)",
        "[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid at column 'b'",
    ),
    *(
        (
            f"CREATE TABLE no (a {kind}, PRIMARY KEY (a) NOT ENFORCED)",
            "[TABLE_STORE_INVALID_SCHEMA]",
        )
        for kind in ("MAP<STRING, INT>", "ARRAY<INT>", "VARIANT")
    ),
    ("CREATE TABLE no (a INT, A INT)", "[COLUMN_ALREADY_EXISTS]"),
    ("CREATE TABLE no (_VALUE_KIND INT)", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("CREATE TABLE no (a INT) WITH ('buckt' = '2')", "[TABLE_STORE_UNKNOWN_OPTION]"),
    ("CREATE TABLE no (a INT) WITH ('bucket' = 'two')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE TABLE no (a INT) WITH ('file.format' = 'csv')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE TABLE no (a INT) WITH ('file.path' = '/x/../y')", "[TABLE_STORE_PATH_NOT_ALLOWED]"),
    ("CREATE TABLE no (a INT) WITH ('bucket')", "[TABLE_STORE_SYNTAX_ERROR]"),
    ("CREATE TABLE no (a INT) LOCATION '/x'", "[TABLE_STORE_PATH_NOT_ALLOWED]"),
    ("CREATE TABLE no (a INT) OPTIONS (path '/x')", "[TABLE_STORE_PATH_NOT_ALLOWED]"),
    ("CREATE TEMPORARY TABLE no (a INT) LOCATION '/x'", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE EXTERNAL TABLE no (a INT)", "[TABLE_STORE_INVALID_OPTION] Option 'external'"),
    (
        "CREATE TABLE no (a INT) WITH ('log.system' = 'kafka')",
        "[TABLE_STORE_INVALID_OPTION] Option 'log.system' = 'kafka' is not valid",
    ),
    (
        "DESCRIBE TABLE EXTENDED bad PARTITION (id = 1)",
        "[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid: it has no partitions",
    ),
    ("CREATE TABLE no (a INT) PARTITIONED BY (bucket(4, a))", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("CREATE TABLE `n$o` (a INT)", "[TABLE_STORE_INVALID_IDENTIFIER]"),
    ("ALTER TABLE bad SET TBLPROPERTIES ('bucket' = '4')", "[TABLE_STORE_INVALID_OPTION]"),
    ("ALTER TABLE bad SET TBLPROPERTIES ('bukket' = '4')", "[TABLE_STORE_UNKNOWN_OPTION]"),
    ("ALTER TABLE bad DROP COLUMN id", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("ALTER TABLE bad RENAME TO nowhere.bad", "[SCHEMA_NOT_FOUND]"),
    (
        "ALTER TABLE bad ADD CONSTRAINT c PRIMARY KEY (v)",
        "[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid: the table has the",
    ),
    ("ALTER TABLE bad ALTER COLUMN v TYPE STRING", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("ALTER TABLE bad PARTITION (nope = 1) COMPACT", "[TABLE_STORE_INVALID_SCHEMA]"),
    ("ALTER TABLE nowhere COMPACT", "[TABLE_STORE_NOT_FOUND]"),
    ("INSERT INTO bad VALUES (NULL, 1)", "[NOT_NULL_ASSERT_VIOLATION]"),
    ("INSERT INTO bad VALUES (1)", "[INSERT_COLUMN_ARITY_MISMATCH"),
    ("INSERT INTO bad VALUES (1, 2, 3)", "[INSERT_COLUMN_ARITY_MISMATCH"),
    ("INSERT INTO bad VALUES (1, 'abc')", "[INCOMPATIBLE_DATA_FOR_TABLE"),
    ("INSERT INTO bad VALUES (1, 3000000000)", "[CAST_OVERFLOW_IN_TABLE_INSERT]"),
    ("INSERT INTO bad SELECT id, id + 3000000000 FROM range(3)", "[CAST_OVERFLOW_IN_TABLE_INSERT]"),
    ("INSERT INTO bad WITH ('change-tracking' = 'no') VALUES (1, 1)", "[TABLE_STORE_INVALID"),
    ("INSERT INTO bad WITH ('change-trackin' = 'x') VALUES (1, 1)", "[TABLE_STORE_UNKNOWN_OPTION]"),
    ("SELECT * FROM bad WITH ('source.split' = 'x')", "[TABLE_STORE_UNKNOWN_OPTION]"),
    ("SELECT * FROM bad /*+ OPTIONS('bucket' = '2') */", "[TABLE_STORE_INVALID_OPTION]"),
    ("SELECT * FROM bad /*+ OPTIONS('k') */", "[TABLE_STORE_SYNTAX_ERROR]"),
    ("SELECT * FROM bad VERSION AS OF 99", "[TABLE_STORE_SNAPSHOT_NOT_FOUND]"),
    ("SELECT * FROM bad VERSION AS OF 'x'", "[TABLE_STORE_NOT_FOUND]"),
    ("CALL sys.nope('bad')", "[TABLE_STORE_PROCEDURE_NOT_FOUND]"),
    ("CALL sys.compact('nowhere')", "[TABLE_STORE_NOT_FOUND]"),
    ("CALL sys.compact(tabel => 'bad')", "[UNRECOGNIZED_PARAMETER_NAME]"),
    ("CALL sys.rollback('bad', '99')", "[TABLE_STORE_SNAPSHOT_NOT_FOUND]"),
    ("SET 'execution.runtime-mode' = 'fast'", "[TABLE_STORE_INVALID_OPTION]"),
    ("DROP TEMPORARY TABLE nowhere", "[TABLE_STORE_NOT_FOUND]"),
    ("USE CATALOG nowhere", "[CATALOG_NOT_FOUND]"),
    ("CREATE CATALOG no WITH ('warehous' = '/x')", "[TABLE_STORE_UNKNOWN_OPTION]"),
    ("CREATE CATALOG no WITH ('warehouse' = 'a/../b')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE CATALOG no WITH ('type' = 'hive')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE CATALOG no WITH ('consistency' = 'eventual')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE CATALOG no WITH ('uri' = 'localhost')", "[TABLE_STORE_INVALID_OPTION]"),
    ("CREATE CATALOG no WITH ('jobs' = 'nowhere')", "[TABLE_STORE_INVALID_OPTION]"),
    ("SET 'table-store.jobs' = 'nowhere'", "[TABLE_STORE_INVALID_OPTION]"),
    ("SELECT * FROM bad CHANGES FROM TIMESTAMP rand()", "[TABLE_STORE_SYNTAX_ERROR]"),
    ("SELECT * FROM bad CHANGES FROM TIMESTAMP id", "[TABLE_STORE_SYNTAX_ERROR]"),
]


def test_what_is_refused(shell: StockShell) -> None:
    """Each mistake has its condition and SQLSTATE, and no trace; nothing of it is visible."""
    shell.ok("CREATE TABLE bad (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO bad VALUES (100, 100)")
    for statement, start in REFUSED:
        said = shell.run(statement).error
        assert said.startswith(start), (statement, said)
        assert "SQLSTATE: " in said, (statement, said)
        assert "\tat " not in said, (statement, said)
        assert "Traceback" not in said, (statement, said)
    assert shell.ok("SELECT * FROM bad") == (("100", "100"),)
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM no").error
