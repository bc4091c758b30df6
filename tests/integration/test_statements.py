"""Every statement of docs/sql.md, typed into the stock shell; results against what SQL says."""

from __future__ import annotations

import getpass
import time

import pytest

from tests.integration.stock_shell import StockShell

pytestmark = pytest.mark.spark


def test_create_insert_select(shell: StockShell) -> None:
    """A table without USING is storage that exists at once."""
    shell.ok("CREATE TABLE t1 (id BIGINT NOT NULL, name STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO t1 VALUES (1, 'a'), (2, 'b'), (1, 'c')")
    assert shell.run("SELECT * FROM t1").sorted() == [("1", "c"), ("2", "b")]
    shell.ok("INSERT INTO t1 VALUES (2, 'd'), (3, NULL)")
    assert shell.run("SELECT * FROM t1").sorted() == [("1", "c"), ("2", "d"), ("3", "NULL")]
    assert shell.ok("SELECT count(*), max(name) FROM t1") == (("3", "d"),)


def test_without_key_is_a_bag(shell: StockShell) -> None:
    """Duplicates stay, and a delete takes away exactly what it matches."""
    shell.ok("CREATE TABLE bag (a INT, b STRING)")
    shell.ok("INSERT INTO bag VALUES (1, 'x'), (1, 'x'), (2, 'y'), (NULL, NULL)")
    shell.ok("INSERT INTO bag VALUES (1, 'x')")
    assert shell.ok("SELECT count(*) FROM bag WHERE a = 1") == (("3",),)
    shell.ok("DELETE FROM bag WHERE b = 'y' OR a IS NULL")
    assert shell.run("SELECT * FROM bag").sorted() == [("1", "x")] * 3
    shell.ok("UPDATE bag SET b = 'z' WHERE a = 1")
    assert shell.run("SELECT * FROM bag").sorted() == [("1", "z")] * 3


FILE_STORE_ROWS = "(0,'p1',1),(0,'p1',2),(5,'p1',1),(6,'p2',1),(3,'p2',5),(5,'p2',1)"


def test_file_store_it_case_partitioned(shell: StockShell) -> None:
    """The first FileStoreITCase data set of the specification."""
    shell.ok(
        "CREATE TABLE it1 (v INT, p STRING, k INT, PRIMARY KEY (p, k) NOT ENFORCED) "
        "PARTITIONED BY (p) WITH ('bucket' = '3')"
    )
    shell.ok(f"INSERT INTO it1 VALUES {FILE_STORE_ROWS}")
    assert shell.run("SELECT v, p, k FROM it1").sorted() == [
        ("0", "p1", "2"),
        ("3", "p2", "5"),
        ("5", "p1", "1"),
        ("5", "p2", "1"),
    ]


def test_file_store_it_case_unpartitioned(shell: StockShell) -> None:
    """The second FileStoreITCase data set of the specification."""
    shell.ok(
        "CREATE TABLE it2 (v INT, p STRING, k INT, PRIMARY KEY (k) NOT ENFORCED) "
        "WITH ('bucket' = '3')"
    )
    shell.ok(f"INSERT INTO it2 VALUES {FILE_STORE_ROWS}")
    assert shell.run("SELECT v, p, k FROM it2").sorted() == [
        ("0", "p1", "2"),
        ("3", "p2", "5"),
        ("5", "p2", "1"),
    ]


def test_update_delete_merge_with_key(shell: StockShell) -> None:
    """Row-level statements with subqueries, aliases and all MERGE clauses."""
    shell.ok("CREATE TABLE acc (id INT, v INT, tag STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO acc VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd')")
    shell.ok("UPDATE acc AS a SET v = a.v + 1 WHERE a.id IN (SELECT id FROM acc WHERE v > 25)")
    assert shell.run("SELECT id, v FROM acc").sorted() == [
        ("1", "10"),
        ("2", "20"),
        ("3", "31"),
        ("4", "41"),
    ]
    shell.ok("DELETE FROM acc WHERE v = (SELECT max(v) FROM acc)")
    shell.ok(
        "MERGE INTO acc AS t USING (SELECT * FROM VALUES (1, 100), (2, -1), (9, 900) "
        "AS s(id, v)) AS s ON t.id = s.id "
        "WHEN MATCHED AND s.v < 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = s.v "
        "WHEN NOT MATCHED THEN INSERT (id, v, tag) VALUES (s.id, s.v, 'new') "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET tag = 'left'"
    )
    assert shell.run("SELECT * FROM acc").sorted() == [
        ("1", "100", "a"),
        ("3", "31", "left"),
        ("9", "900", "new"),
    ]
    twice = shell.run(
        "MERGE INTO acc t USING (SELECT * FROM VALUES (1, 1), (1, 2) AS s(id, v)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v"
    )
    assert "MERGE_CARDINALITY_VIOLATION" in twice.error
    assert shell.ok("SELECT v FROM acc WHERE id = 1") == (("100",),)


def test_update_of_key_columns(shell: StockShell) -> None:
    """A key that moves leaves nothing behind, also where keys move into each other's place."""
    shell.ok("CREATE TABLE moving (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO moving VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shell.ok("UPDATE moving SET id = id + 1")
    assert shell.run("SELECT * FROM moving").sorted() == [("2", "a"), ("3", "b"), ("4", "c")]
    shell.ok("UPDATE moving SET id = 6 - id WHERE id IN (2, 4)")
    assert shell.run("SELECT * FROM moving").sorted() == [("2", "c"), ("3", "b"), ("4", "a")]


def test_time_travel(shell: StockShell) -> None:
    """Every snapshot can be read by version and by time."""
    shell.ok("CREATE TABLE tt (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO tt VALUES (1, 'a')")
    shell.ok("INSERT INTO tt VALUES (1, 'b'), (2, 'c')")
    assert shell.run("SELECT * FROM tt VERSION AS OF 1").sorted() == [("1", "a")]
    assert shell.run("SELECT * FROM tt VERSION AS OF 2").sorted() == [("1", "b"), ("2", "c")]
    assert "TABLE_STORE_SNAPSHOT_NOT_FOUND" in shell.run("SELECT * FROM tt VERSION AS OF 9").error
    assert shell.run("SELECT * FROM tt TIMESTAMP AS OF current_timestamp()").sorted() == [
        ("1", "b"),
        ("2", "c"),
    ]
    early = shell.run("SELECT * FROM tt TIMESTAMP AS OF '2001-01-01'")
    assert "TABLE_STORE_SNAPSHOT_NOT_FOUND" in early.error
    assert "at or before 2001-01-01 00:00:00" in early.error


def test_overwrite(shell: StockShell) -> None:
    """Static, dynamic and conditional overwrite."""
    shell.ok("CREATE TABLE ov (a INT, p STRING) PARTITIONED BY (p)")
    shell.ok("INSERT INTO ov VALUES (1, 'x'), (2, 'y'), (3, 'z')")
    shell.ok("INSERT OVERWRITE ov PARTITION (p = 'x') SELECT 10")
    assert shell.run("SELECT * FROM ov").sorted() == [("10", "x"), ("2", "y"), ("3", "z")]
    shell.ok("SET spark.sql.sources.partitionOverwriteMode = dynamic")
    shell.ok("INSERT OVERWRITE ov VALUES (20, 'y')")
    shell.ok("RESET spark.sql.sources.partitionOverwriteMode")
    assert shell.run("SELECT * FROM ov").sorted() == [("10", "x"), ("20", "y"), ("3", "z")]
    shell.ok("INSERT INTO ov REPLACE WHERE p = 'z' VALUES (30, 'z')")
    assert shell.run("SELECT * FROM ov").sorted() == [("10", "x"), ("20", "y"), ("30", "z")]
    shell.ok("INSERT OVERWRITE ov VALUES (7, 'w')")
    assert shell.run("SELECT * FROM ov").sorted() == [("7", "w")]
    shell.ok("TRUNCATE TABLE ov")
    assert shell.ok("SELECT count(*) FROM ov") == (("0",),)


def test_compact(shell: StockShell) -> None:
    """Full compaction leaves one file for each bucket and the same rows."""
    shell.ok("CREATE TABLE cmp (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    for value in range(3):
        shell.ok(f"INSERT INTO cmp SELECT id, {value} FROM range(100)")
    shell.ok("DELETE FROM cmp WHERE id >= 90")
    ((before, after, bytes_before, bytes_after),) = shell.ok("ALTER TABLE cmp COMPACT")
    assert (before, after) == ("4", "1")
    assert int(bytes_before) > int(bytes_after) > 0
    assert shell.ok("SELECT count(*), sum(v) FROM cmp") == (("90", "180"),)


def test_computed_columns_and_watermark(shell: StockShell) -> None:
    """Computed columns are never listed, and follow an UPDATE of what they are computed from."""
    shell.ok(
        "CREATE TABLE cc (id INT, ts TIMESTAMP, day AS date_format(ts, 'yyyy-MM-dd'), "
        "WATERMARK FOR ts AS ts - INTERVAL 5 SECONDS, PRIMARY KEY (id) NOT ENFORCED) "
        "COMMENT 'c' WITH ('bucket' = '2')"
    )
    shell.ok("INSERT INTO cc VALUES (1, TIMESTAMP '2024-01-02 03:04:05')")
    shell.ok("INSERT INTO cc (ts, id) VALUES (TIMESTAMP '2024-02-03 00:00:00', 2)")
    assert shell.run("SELECT id, day FROM cc").sorted() == [
        ("1", "2024-01-02"),
        ("2", "2024-02-03"),
    ]
    shell.ok("UPDATE cc SET ts = TIMESTAMP '2025-01-01 00:00:00' WHERE id = 1")
    assert shell.ok("SELECT day FROM cc WHERE id = 1") == (("2025-01-01",),)


def test_watermark(shell: StockShell) -> None:
    """It is of the greatest row that any statement wrote, and stays when that is gone."""

    def described(table: str) -> list[str]:
        return [row[1] for row in shell.ok(f"DESCRIBE EXTENDED {table}") if row[0] == "watermark"]

    shell.ok("SET TIME ZONE 'UTC'")
    shell.ok(
        "CREATE TABLE wm (id INT, day STRING, ts TIMESTAMP, WATERMARK FOR ts AS ts - INTERVAL '5' "
        "SECOND, PRIMARY KEY (id, day) NOT ENFORCED) PARTITIONED BY (day) WITH ('bucket' = '2')"
    )
    assert described("wm") == [""]
    shell.ok("INSERT INTO wm VALUES (1, 'a', TIMESTAMP '2024-01-02 03:04:05')")
    assert described("wm") == ["2024-01-02 03:04:00.000"]
    shell.ok("INSERT INTO wm SELECT id, 'b', TIMESTAMP '2024-01-01 00:00:05' FROM range(3)")
    assert described("wm") == ["2024-01-02 03:04:00.000"]
    assert described("wm PARTITION (day = 'b')") == ["2024-01-01 00:00:00.000"]
    shell.ok("UPDATE wm SET ts = TIMESTAMP '2025-01-01 00:00:05.25' WHERE id = 2")
    assert described("wm") == ["2025-01-01 00:00:00.250"]
    assert described("wm PARTITION (day = 'a')") == ["2024-01-02 03:04:00.000"]
    shell.ok("DELETE FROM wm WHERE day = 'b'")
    shell.ok("ALTER TABLE wm COMPACT")
    shell.ok("TRUNCATE TABLE wm")
    shell.ok("INSERT OVERWRITE wm VALUES (1, 'a', TIMESTAMP '2024-06-01 00:00:05')")
    assert described("wm") == ["2025-01-01 00:00:00.250"]
    assert shell.ok("SELECT DISTINCT watermark FROM wm.snapshots ORDER BY 1") == (
        ("1704164640000",),
        ("1735689600250",),
    )
    assert shell.ok("SELECT partition, watermark FROM wm.partitions") == (
        ("day=a", "1717200000000"),
    )
    shell.ok("RESET spark.sql.session.timeZone")


def test_schema_changes(shell: StockShell) -> None:
    """Old files read correctly under the new schema."""
    shell.ok("CREATE TABLE ev (id INT, a INT, b STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO ev VALUES (1, 1, 'one')")
    shell.ok("ALTER TABLE ev ADD COLUMN c DOUBLE DEFAULT 1.5 COMMENT 'new' AFTER id")
    assert shell.ok("SELECT * FROM ev") == (("1", "1.5", "1", "one"),)
    shell.ok("ALTER TABLE ev RENAME COLUMN b TO name")
    shell.ok("ALTER TABLE ev ALTER COLUMN a TYPE BIGINT")
    shell.ok("INSERT INTO ev VALUES (2, 2.5, 5000000000, 'two')")
    shell.ok("ALTER TABLE ev DROP COLUMN c")
    assert shell.run("SELECT * FROM ev").sorted() == [
        ("1", "1", "one"),
        ("2", "5000000000", "two"),
    ]
    shell.ok("ALTER TABLE ev RENAME TO ev2")
    assert shell.ok("SELECT count(*) FROM ev2") == (("2",),)
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM ev").error


def test_drop(shell: StockShell) -> None:
    """DROP deletes the physical storage."""
    shell.ok("CREATE TABLE gone (a INT)")
    shell.ok("INSERT INTO gone VALUES (1)")
    shell.ok("DROP TABLE gone")
    assert "TABLE_OR_VIEW_NOT_FOUND" in shell.run("SELECT * FROM gone").error
    shell.ok("DROP TABLE IF EXISTS gone")
    shell.ok("CREATE TABLE gone (b STRING)")
    assert shell.ok("SELECT count(*) FROM gone") == (("0",),)


def test_ctas_and_replace(shell: StockShell) -> None:
    """CTAS, CREATE OR REPLACE and RTAS are atomic."""
    shell.ok("CREATE TABLE ct AS SELECT id, id * 2 AS d FROM range(5)")
    assert shell.ok("SELECT sum(d) FROM ct") == (("20",),)
    assert "ALREADY_EXISTS" in shell.run("CREATE TABLE ct AS SELECT 1 AS a").error
    shell.ok("CREATE OR REPLACE TABLE ct AS SELECT 'x' AS s")
    assert shell.ok("SELECT * FROM ct") == (("x",),)
    assert shell.run("CREATE OR REPLACE TABLE ct AS SELECT 1/0 AS s").error
    assert shell.ok("SELECT * FROM ct") == (("x",),)


def test_views(shell: StockShell) -> None:
    """Views are persisted in the catalog."""
    shell.ok("CREATE VIEW vw AS SELECT id FROM range(3)")
    assert shell.ok("SELECT count(*) FROM vw") == (("3",),)
    assert ("vw",) in {row[1:2] for row in shell.ok("SHOW VIEWS")}
    shell.ok("DROP VIEW vw")


def test_change_type_column(shell: StockShell) -> None:
    """Any changelog can be written by any SQL."""
    shell.ok("CREATE TABLE cl (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO cl VALUES (1, 'a'), (2, 'b')")
    shell.ok(
        "INSERT INTO cl WITH ('change-type-column' = 'op') SELECT * FROM VALUES "
        "(1, 'a', 'update_preimage'), (1, 'A', 'update_postimage'), (2, 'b', 'delete'), "
        "(3, 'c', 'insert') AS s(id, v, op)"
    )
    assert shell.run("SELECT * FROM cl").sorted() == [("1", "A"), ("3", "c")]


def test_describe_and_show(shell: StockShell) -> None:
    """DESCRIBE EXTENDED has the rows of the specification, SHOW CREATE TABLE runs again."""
    shell.ok(
        "CREATE TABLE ds (id INT, p STRING, PRIMARY KEY (id, p) NOT ENFORCED) "
        "PARTITIONED BY (p) WITH ('bucket' = '2')"
    )
    shell.ok("INSERT INTO ds VALUES (1, 'x'), (2, 'y')")
    described = {row[0]: row[1] for row in shell.ok("DESCRIBE TABLE EXTENDED ds") if len(row) > 1}
    assert described["bucket"] == "2"
    assert described["Provider"] == "table_store"
    assert described["Owner"] == getpass.getuser()
    assert described["file.format"] == "parquet"
    assert described["change-tracking"] == "true"
    assert "file.path" in described
    partition = {
        row[0]: row[1]
        for row in shell.ok("DESCRIBE TABLE EXTENDED ds PARTITION (p = 'x')")
        if len(row) > 1
    }
    assert partition["num-files"] == "1"
    assert partition["compacted"] in ("true", "false")
    assert partition["file.path"].rstrip("/").endswith("p=x")
    assert shell.run("SHOW PARTITIONS ds").sorted() == [("p=x",), ("p=y",)]
    create = "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE ds"))
    shell.ok("DROP TABLE ds")
    shell.ok(create)
    assert "\n".join(row[0] for row in shell.ok("SHOW CREATE TABLE ds")) == create
    shell.ok("CREATE TABLE du USING table_store AS SELECT 1 AS id")
    shell.ok("CREATE TABLE dl LIKE du")
    for name in ("du", "dl"):
        assert shell.ok(f"SHOW CREATE TABLE {name}")[0][0].startswith("CREATE TABLE table_store.")


def test_settings(shell: StockShell) -> None:
    """Session settings as the specification writes them, quoted or not."""
    shell.ok("SET table-storage.bucket = 4")
    shell.ok("CREATE TABLE st (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("RESET 'table-storage.bucket'")
    described = {row[0]: row[1] for row in shell.ok("DESCRIBE TABLE EXTENDED st") if len(row) > 1}
    assert described["bucket"] == "4"
    shell.ok("SET 'execution.runtime-mode' = 'batch'")


def test_system_tables_and_procedures(shell: StockShell) -> None:
    """System tables in both spellings; procedures by name and by position."""
    shell.ok("CREATE TABLE sy (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO sy VALUES (1)")
    shell.ok("INSERT INTO sy VALUES (2)")
    assert shell.ok("SELECT snapshot_id, commit_kind FROM `sy$snapshots` ORDER BY 1") == (
        ("1", "APPEND"),
        ("2", "APPEND"),
    )
    assert shell.ok(f"SELECT count(*) FROM {shell.namespace}.sy.snapshots") == (("2",),)
    shell.ok(f"CALL sys.rollback(table => '{shell.namespace}.sy', version => '1')")
    assert shell.ok("SELECT * FROM sy") == (("1",),)
    shell.ok(f"CALL sys.compact('{shell.namespace}.sy')")
    listed = shell.ok("SHOW PROCEDURES IN table_store.sys")
    assert listed[0][:2] == ("table_store", '["sys"]')
    assert shell.ok("SHOW PROCEDURES") == listed


def test_changes(shell: StockShell) -> None:
    """What each commit changed, in all modes; a compaction changes nothing."""
    shell.ok("CREATE TABLE ch (id INT, v STRING, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO ch VALUES (1, 'a'), (2, 'b'), (3, 'c')")
    shell.ok("INSERT INTO ch VALUES (2, 'B'), (3, 'c')")
    shell.ok("ALTER TABLE ch COMPACT")
    shell.ok("DELETE FROM ch WHERE id = 1")
    shell.ok("UPDATE ch SET v = 'BB' WHERE id = 2")
    columns = "_commit_version, _change_type, id, v"
    query = f"SELECT {columns} FROM ch CHANGES FROM VERSION"
    first = [("1", "insert", str(i), v) for i, v in enumerate("abc", 1)]
    assert shell.run(f"{query} 1 TO VERSION 2").sorted() == [
        *first,
        ("2", "delete", "2", "b"),
        ("2", "insert", "2", "B"),
    ]
    assert shell.run(
        f"{query} 1 EXCLUSIVE TO VERSION 2 WITH (deduplicationMode = 'none')"
    ).sorted() == [
        ("2", "delete", "2", "b"),
        ("2", "delete", "3", "c"),
        ("2", "insert", "2", "B"),
        ("2", "insert", "3", "c"),
    ]
    assert shell.run(f"{query} 2 WITH (computeUpdates = 'true') AS c WHERE id < 3").sorted() == [
        ("2", "update_postimage", "2", "B"),
        ("2", "update_preimage", "2", "b"),
        ("4", "delete", "1", "a"),
        ("5", "update_postimage", "2", "BB"),
        ("5", "update_preimage", "2", "B"),
    ]
    assert shell.run(f"{query} 1 WITH (deduplicationMode = 'netChanges')").sorted() == [
        ("1", "insert", "3", "c"),
        ("5", "insert", "2", "BB"),
    ]
    assert shell.ok(f"{query} 3 TO VERSION 3") == ()
    assert shell.ok(f"{query} 5 EXCLUSIVE") == ()
    assert shell.ok("SELECT count(*) FROM ch CHANGES FROM VERSION 0 EXCLUSIVE") == (("8",),)
    times = shell.ok("SELECT max(commit_time) FROM ch.snapshots WHERE snapshot_id < 5")[0][0]
    by_time = f"SELECT {columns} FROM ch CHANGES FROM TIMESTAMP '{times}'"
    assert {row[0] for row in shell.ok(by_time)} == {"4", "5"}
    assert {row[0] for row in shell.ok(f"{by_time} EXCLUSIVE")} == {"5"}
    assert shell.ok(
        "SELECT count(*) FROM ch CHANGES FROM VERSION 1 JOIN ch.snapshots "
        "ON _commit_version = snapshot_id AND _commit_timestamp = commit_time"
    ) == (("8",),)


def test_changes_without_key(shell: StockShell) -> None:
    """A bag's changes are deletes and inserts; columns that came later have their default."""
    shell.ok("CREATE TABLE cb (a INT, p STRING) PARTITIONED BY (p)")
    shell.ok("INSERT INTO cb VALUES (1, 'x'), (1, 'x'), (2, 'y')")
    shell.ok("DELETE FROM cb WHERE p = 'y'")
    shell.ok("ALTER TABLE cb ADD COLUMN c INT DEFAULT 7")
    shell.ok("INSERT OVERWRITE cb VALUES (1, 'x', 7), (3, 'z', 8)")
    query = "SELECT a, p, c, _change_type, _commit_version FROM cb CHANGES FROM VERSION 1"
    assert shell.run(query).sorted() == [
        ("1", "x", "7", "delete", "3"),
        ("1", "x", "7", "insert", "1"),
        ("1", "x", "7", "insert", "1"),
        ("2", "y", "7", "delete", "2"),
        ("2", "y", "7", "insert", "1"),
        ("3", "z", "8", "insert", "3"),
    ]
    assert shell.ok("SELECT count(*) FROM cb CHANGES FROM VERSION 1 WHERE p = 'x'") == (("3",),)
    assert shell.run(f"{query} WITH (deduplicationMode = 'netChanges')").sorted() == [
        ("1", "x", "7", "insert", "1"),
        ("3", "z", "8", "insert", "3"),
    ]


def test_changes_that_are_not_there(shell: StockShell) -> None:
    """Every bound outside of the history is an error that names what there is."""
    shell.ok("CREATE TABLE cn (id INT, PRIMARY KEY (id) NOT ENFORCED)")
    none = shell.run("SELECT * FROM cn CHANGES FROM VERSION 1").error
    assert "TABLE_STORE_CHANGES_NOT_AVAILABLE" in none
    assert "no snapshot yet" in none
    for i in range(1, 4):
        shell.ok(f"INSERT INTO cn VALUES ({i})")
    shell.ok("INSERT INTO cn WITH ('change-tracking' = 'false') VALUES (4)")
    for bounds in (
        "FROM VERSION 9",
        "FROM VERSION 1 TO VERSION 9",
        "FROM TIMESTAMP '2001-01-01'",
        "FROM TIMESTAMP '2999-01-01'",
    ):
        error = shell.run(f"SELECT * FROM cn CHANGES {bounds}").error
        assert "TABLE_STORE_CHANGES_NOT_AVAILABLE" in error, bounds
        assert "available are the versions 1 to 4" in error, bounds
    reversed_ = shell.run("SELECT * FROM cn CHANGES FROM VERSION 3 TO VERSION 2").error
    assert "TABLE_STORE_INVALID_CHANGE_RANGE" in reversed_
    untracked = shell.run("SELECT * FROM cn CHANGES FROM VERSION 2").error
    assert "TABLE_STORE_CHANGES_NOT_TRACKED" in untracked
    assert "Snapshot 4" in untracked
    skipping = "SELECT id FROM cn CHANGES FROM VERSION 2 WITH ('untracked-changes' = 'skip')"
    assert shell.run(skipping).sorted() == [("2",), ("3",)]
    shell.ok(
        "CALL sys.expire_snapshots(table => 'cn', retain_max => 2, retain_min => 2, "
        "older_than => '2999-01-01 00:00:00')"
    )
    expired = shell.run("SELECT * FROM cn CHANGES FROM VERSION 2").error
    assert "versions 4 to 4" in expired
    assert "have expired" in expired
    shell.ok("CREATE OR REPLACE TABLE cn (id INT)")
    shell.ok("INSERT INTO cn VALUES (9)")
    replaced = shell.run("SELECT * FROM cn CHANGES FROM VERSION 1 TO VERSION 4").error
    assert "versions 1 to 1" in replaced
    assert "was replaced" in replaced
    shell.ok("CREATE VIEW cv AS SELECT 1 AS a")
    assert "is a view" in shell.run("SELECT * FROM cv CHANGES FROM VERSION 1").error


def test_old_snapshots_expire_by_themselves(shell: StockShell) -> None:
    """After a commit, in the background; not where writers leave maintenance to others."""
    kept = "'snapshot.num-retained.min' = 1, 'snapshot.num-retained.max' = 2"
    shell.ok(f"CREATE TABLE ex (id INT, PRIMARY KEY (id) NOT ENFORCED) WITH ({kept})")
    shell.ok(f"CREATE TABLE exw (id INT) WITH ({kept}, 'write-only' = true)")
    for table in ("ex", "exw"):
        for i in range(5):
            shell.ok(f"INSERT INTO {table} VALUES ({i})")
    folder = shell.tables / "ex"
    for _ in range(2):
        shell.ok("INSERT OVERWRITE ex SELECT * FROM ex")
    deadline = time.monotonic() + 60
    # The data files go last: the two left are those that each OVERWRITE wrote.
    while len(list(folder.glob("bucket-0/data-*"))) > 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert len(list(folder.glob("bucket-0/data-*"))) == 2
    assert len(list(folder.glob("snapshot/snapshot-*"))) == 2
    assert shell.ok("SELECT count(*), sum(id) FROM ex") == (("5", "10"),)
    assert shell.ok("SELECT count(*) FROM exw.snapshots") == (("5",),)


def test_tables_of_changes(shell: StockShell) -> None:
    """The whole history as an audit log with Paimon's row kinds, and as changes."""
    shell.ok("CREATE TABLE al (id INT, v INT, PRIMARY KEY (id) NOT ENFORCED)")
    shell.ok("INSERT INTO al VALUES (1, 1), (2, 2)")
    shell.ok("INSERT INTO al VALUES (1, 10)")
    shell.ok("DELETE FROM al WHERE id = 2")
    assert shell.run("SELECT * FROM `al$audit_log`").sorted() == [
        ("+I", "1", "1"),
        ("+I", "2", "2"),
        ("+U", "1", "10"),
        ("-D", "2", "2"),
        ("-U", "1", "1"),
    ]
    al = f"{shell.namespace}.al"
    changes = f"SELECT id, _change_type FROM {al}.changes WHERE _commit_version = 2"
    assert shell.run(changes).sorted() == [("1", "update_postimage"), ("1", "update_preimage")]
