"""Goal: what a definition or a database says wrongly is refused, and what changes are is known.

Oracle: statements and types of MariaDB, written down by hand.
"""

from __future__ import annotations

import pytest

from table_store.catalog.connectors.mysql.gtid_set import GtidSet
from table_store.catalog.connectors.mysql.logged_statement import what_it_does
from table_store.catalog.connectors.mysql.mysql_binlog import (
    NOWHERE,
    Binlog,
    BinlogPlace,
    BinlogPosition,
)
from table_store.catalog.connectors.mysql.mysql_definition import MysqlDefinition, Startup
from table_store.catalog.connectors.mysql.mysql_types import DatabaseColumn
from table_store.catalog.connectors.mysql.table_names import TableNames, only
from table_store.storage.file_store.model.schema import Field, TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    DataType,
    DecimalType,
)

NEEDED = {
    "connector": "mysql-cdc",
    "hostname": "h",
    "username": "u",
    "password": "hush",
    "database-name": "shop",
    "table-name": "orders",
}


def definition(**options: str) -> MysqlDefinition:
    given = {key.replace("__", ".").replace("_", "-"): value for key, value in options.items()}
    schema = TableSchema(
        fields=(Field(id=1, name="id", type=LONG),),
        highest_field_id=1,
        time_ms=0,
        options={**NEEDED, **given},
    )
    return MysqlDefinition.of(schema)


def test_a_definition_has_the_connectors_defaults_and_hides_its_password() -> None:
    found = definition()
    assert (found.database.name, found.table) == ("h:3306", "shop.orders")
    assert found.startup is Startup.INITIAL
    assert not found.begins_with_changes
    assert "hush" not in repr(found)
    assert definition(server_id="5400-5408").server_ids == (5400, 5408)
    assert definition(server_id="7").server_ids == (7, 7)


@pytest.mark.parametrize(
    ("options", "key"),
    [
        ({"scan__startup__mode": "group-offsets"}, "scan.startup.mode"),
        ({"scan__startup__mode": "timestamp"}, "scan.startup.timestamp-millis"),
        ({"scan__startup__timestamp_millis": "5"}, "scan.startup.timestamp-millis"),
        ({"scan__startup__mode": "specific-offset"}, "scan.startup.specific-offset.file"),
        ({"scan__startup__specific-offset__pos": "4"}, "scan.startup.specific-offset.pos"),
        ({"scan__startup__specific-offset__file": "x"}, "scan.startup.specific-offset.file"),
        ({"server_id": "9-8"}, "server-id"),
        ({"server_time_zone": "Europe/Nowhere"}, "server-time-zone"),
        ({"port": "0"}, "port"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, str], key: str) -> None:
    with pytest.raises(InvalidOptionError) as error:
        definition(**options)
    assert error.value.key == key


def column(
    full_type: str, precision: int | None = None, scale: int | None = None
) -> DatabaseColumn:
    return DatabaseColumn(
        name="c",
        type=full_type.partition("(")[0].partition(" ")[0],
        full_type=full_type,
        precision=precision,
        scale=scale,
        length=None,
        charset="utf8mb4" if full_type.startswith(("varchar", "enum")) else None,
    )


@pytest.mark.parametrize(
    ("of_database", "fitting", "others"),
    [
        (column("tinyint(1)"), (BOOLEAN, BYTE, LONG, STRING, DecimalType(3, 0)), (DOUBLE, DATE)),
        (column("int(10) unsigned"), (LONG, DecimalType(10, 0)), (INTEGER, DecimalType(9, 0))),
        (column("bigint(20) unsigned"), (DecimalType(20, 0), STRING), (LONG, DecimalType(19, 0))),
        (column("mediumint(9)"), (INTEGER,), (SHORT, BOOLEAN)),
        (column("bit(1)", 1), (BOOLEAN, BYTE), (BINARY,)),
        (column("bit(64)", 64), (DecimalType(20, 0),), (LONG, BOOLEAN)),
        (column("year(4)"), (SHORT, STRING), (BYTE, DATE)),
        (column("decimal(9,2)", 9, 2), (DecimalType(9, 2), DecimalType(12, 4), STRING), (LONG,)),
        (column("decimal(9,2)", 9, 2), (), (DecimalType(9, 1), DecimalType(9, 3), DOUBLE)),
        (column("float"), (FLOAT, DOUBLE), (STRING, DecimalType(9, 2))),
        (column("varchar(9)"), (STRING,), (BINARY, LONG)),
        (column("varbinary(9)"), (BINARY,), (STRING,)),
        (column("enum('a')"), (STRING,), (INTEGER,)),
        (column("date"), (DATE,), (TIMESTAMP, STRING)),
        (column("datetime"), (TIMESTAMP, TIMESTAMP_NTZ), (DATE,)),
        (column("time"), (STRING,), (TIMESTAMP,)),
        (column("uuid"), (), (STRING, BINARY)),
        (column("point"), (), (STRING, BINARY)),
    ],
)
def test_a_type_has_a_place_for_all_values_or_is_refused(
    of_database: DatabaseColumn, fitting: tuple[DataType, ...], others: tuple[DataType, ...]
) -> None:
    assert [kind for kind in fitting if of_database.why_not(kind) is not None] == []
    assert [kind for kind in others if of_database.why_not(kind) is None] == []


def test_labels_of_an_enum_are_read_from_its_definition() -> None:
    assert column("enum('a','b''c','','d,e')").labels == ("a", "b'c", "", "d,e")


@pytest.mark.parametrize(
    ("statement", "does"),
    [
        ("TRUNCATE orders", True),
        ("truncate table `shop`.`orders`", True),
        ("DROP TABLE IF EXISTS other, /* x */ Orders", True),
        ("DROP TABLE shop . orders /* generated by server */", True),
        ("RENAME TABLE orders TO o2, x TO y", True),
        ("ALTER TABLE orders RENAME TO o2", True),
        ("ALTER TABLE orders RENAME o2", True),
        ("RENAME TABLES orders TO o2", True),
        ("DROP TABLES orders", True),
        ("ALTER ONLINE TABLE orders RENAME o2", True),
        ("ALTER IGNORE TABLE orders TRUNCATE PARTITION p0", True),
        ("/*!50100 ALTER TABLE orders DROP PARTITION p0 */", True),
        ("ALTER TABLE orders /*M!100601 CONVERT PARTITION p0 TO TABLE y */", True),
        ("ALTER TABLE orders DISCARD TABLESPACE", True),
        ("ALTER TABLE orders TRUNCATE PARTITION p1", True),
        ("CREATE OR REPLACE TABLE orders (id INT)", True),
        ("DROP DATABASE shop", True),
        ("UPDATE orders SET id = 1", True),
        ("-- a comment\\nDELETE FROM orders", True),
        ("INSERT INTO shop.orders VALUES (1)", True),
        ("ALTER TABLE orders ADD COLUMN x INT, DROP COLUMN y, RENAME COLUMN a TO b", False),
        ("ALTER TABLE orders DROP INDEX i, RENAME INDEX j TO k", False),
        ("CREATE TABLE orders (id INT)", False),
        ("DROP INDEX i ON orders", False),
        ("DROP TABLE other.orders", False),
        ("TRUNCATE orders2", False),
        ("DROP DATABASE other", False),
        ("BEGIN", False),
        ("", False),
    ],
)
def test_statements_that_do_not_tell_rows_are_known(statement: str, does: bool) -> None:
    text = statement.replace("\\n", "\n")
    assert (what_it_does(text, "shop", TableNames("shop", "orders")) is not None) == does


def test_a_name_without_a_database_is_of_the_current_one() -> None:
    assert what_it_does("TRUNCATE orders", "other", TableNames("shop", "orders")) is None
    assert what_it_does("TRUNCATE shop.orders", "other", TableNames("shop", "orders")) is not None


NONE = GtidSet.of_text("")


def test_bytes_between_places_count_the_files_between() -> None:
    log = Binlog(
        id="1:b",
        is_mariadb=True,
        base="b",
        digits=6,
        sizes={2: 100, 3: 50, 4: 80},
        end=BinlogPosition(4, 80),
        gtids=NONE,
        purged=NONE,
    )

    def between(start: tuple[int, int], end: tuple[int, int], of: str = "1:b") -> int:
        places = [
            BinlogPlace(log_id=of, position=BinlogPosition(*at), low=NOWHERE, gtids=NONE)
            for at in (start, end)
        ]
        return log.bytes_between(*places)

    assert between((4, 10), (4, 80)) == 70
    assert between((2, 40), (4, 30)) == 60 + 50 + 30
    # Of a file that is gone nothing is known; behind another server's places it may be all.
    assert between((1, 40), (3, 20)) == 100 + 20
    assert between((1, 40), (3, 20), "2:b") == 100 + 50 + 80
    assert (log.shown(BinlogPosition(3, 4)), log.begin) == ("b.000003:4", BinlogPosition(2, 4))


def test_a_pattern_means_whole_names() -> None:
    some = TableNames("shop_(east|west)", "sales_[0-9]+")
    assert some.has("shop_east", "sales_12")
    assert not some.has("shop_east", "sales_12_old")
    assert not some.has("Shop_East", "sales_12")
    assert some.may_have("Shop_East", "SALES_12")
    assert not TableNames(".*", ".*").has("mysql", "user")
    assert TableNames("shop", only("a.b")).has("shop", "a.b")
    assert not TableNames("shop", only("a.b")).has("shop", "axb")
    assert TableNames("shop", "a$b-c").is_one
    assert what_it_does("DROP TABLE t1, sales_7", "shop_west", some) is not None
    assert what_it_does("RENAME TABLE old TO sales_9", "shop_west", some) is not None
    assert what_it_does("DROP TABLE sales_x", "shop_west", some) is None
    assert what_it_does("DROP DATABASE shop_west", "other", some) == "shop_west was dropped"


@pytest.mark.parametrize(
    ("kind", "full_type", "wanted"),
    [
        ("tinyint", "tinyint(1)", BYTE),
        ("tinyint", "tinyint(3) unsigned", SHORT),
        ("mediumint", "mediumint", INTEGER),
        ("int", "int unsigned", LONG),
        ("bigint", "bigint", LONG),
        ("bigint", "bigint unsigned", DecimalType(20, 0)),
        ("year", "year", SHORT),
        ("double", "double", DOUBLE),
        ("float", "float", FLOAT),
        ("json", "json", STRING),
        ("time", "time(3)", STRING),
        ("datetime", "datetime", TIMESTAMP_NTZ),
        ("timestamp", "timestamp", TIMESTAMP),
        ("longblob", "longblob", BINARY),
        ("geometry", "geometry", None),
    ],
)
def test_a_suggested_type_has_a_place_for_all_values(
    kind: str, full_type: str, wanted: DataType | None
) -> None:
    column = DatabaseColumn(
        name="c",
        type=kind,
        full_type=full_type,
        precision=None,
        scale=None,
        length=None,
        charset=None,
    )
    assert column.suggested == wanted
    assert wanted is None or column.why_not(wanted) is None
