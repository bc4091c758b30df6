"""Goal: SQLAlchemy, pandas and what stands on them (Superset) see and make tables as elsewhere.

The oracle is what the test has declared, and PyHive's own cursor.
"""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Iterator

import pandas as pd
import pytest
import sqlalchemy as sa
from pyhive import hive


@pytest.fixture(scope="module")
def engine(server: tuple[str, int]) -> Iterator[sa.Engine]:
    """An engine whose schema is new."""
    host, port = server
    with hive.connect(host, port, username="tester") as connection:
        connection.cursor().execute("DROP SCHEMA IF EXISTS `of alchemy` CASCADE")
        connection.cursor().execute("CREATE SCHEMA `of alchemy`")
    made = sa.create_engine(f"tablestore://tester@{host}:{port}/of%20alchemy")
    yield made
    with made.connect() as connection:
        connection.execute(sa.text("DROP SCHEMA `of alchemy` CASCADE"))
    made.dispose()


def test_names(engine: sa.Engine) -> None:
    """Each kind by itself, where PyHive's own dialect lists the schema in place of tables."""
    with engine.connect() as connection:
        for sql in (
            "CREATE TABLE `a b` (id INT, `x.y` STRING)",
            "CREATE VIEW vw AS SELECT 1 AS one",
            "CREATE MATERIALIZED VIEW mv AS SELECT id FROM `a b`",
            "CREATE TEMPORARY VIEW tv AS SELECT 1 AS one",
        ):
            connection.execute(sa.text(sql))
    inspector = sa.inspect(engine)
    assert inspector.default_schema_name == "of alchemy"
    assert "of alchemy" in inspector.get_schema_names()
    assert inspector.get_table_names() == ["a b"]
    assert inspector.get_view_names() == ["vw"]
    assert inspector.get_materialized_view_names() == ["mv"]
    assert inspector.get_table_names("default") == []
    assert inspector.has_table("a b", "of alchemy")
    assert inspector.has_table("mv")
    assert not inspector.has_table("a_b")
    assert not inspector.has_table("vw", "nowhere")
    assert "SELECT 1 AS one" in inspector.get_view_definition("vw")
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nowhere")


def test_create_all_and_reflect(engine: sa.Engine) -> None:
    """A declared table comes back as it was declared: types, key, comments, partitions."""
    metadata = sa.MetaData()
    declared = sa.Table(
        "declared",
        metadata,
        sa.Column("day", sa.Date, primary_key=True),
        sa.Column("id", sa.BigInteger, primary_key=True, autoincrement=False, comment="it's a key"),
        sa.Column("amount", sa.Numeric(12, 2), nullable=False),
        sa.Column("rate", sa.Float),
        sa.Column("name", sa.String(10)),
        sa.Column("note", sa.Text, comment="100 %"),
        sa.Column("at", sa.DateTime),
        sa.Column("raw", sa.LargeBinary),
        sa.Column("ok", sa.Boolean),
        comment="of all types",
        tablestore_partition_by=["day"],
        tablestore_options={"bucket": 2},
    )
    metadata.create_all(engine)
    metadata.create_all(engine)  # sees that it is there
    inspector = sa.inspect(engine)
    found = {column["name"]: column for column in inspector.get_columns("declared")}
    assert list(found) == [column.name for column in declared.columns]
    for name, column in declared.columns.items():
        assert found[name]["nullable"] == column.nullable, name
        assert found[name]["comment"] == column.comment, name
    types = {name: str(column["type"]) for name, column in found.items()}
    assert types["amount"] == "DECIMAL(12, 2)"
    assert types["name"] == "VARCHAR(10)"
    assert types["id"] == "BIGINT"
    assert inspector.get_pk_constraint("declared")["constrained_columns"] == ["day", "id"]
    assert inspector.get_indexes("declared")[0]["column_names"] == ["day"]
    assert inspector.get_table_comment("declared") == {"text": "of all types"}

    row = {
        "day": dt.date(2026, 1, 31),
        "id": 7,
        "amount": decimal.Decimal("9.50"),
        "rate": 0.25,
        "name": "it's",
        "note": "a\\b % ü",
        "at": dt.datetime(2026, 1, 31, 12, 30, 1, 500000),  # noqa: DTZ001 # as the column
        "raw": b"\x00\xff",
        "ok": True,
    }
    reflected = sa.Table("declared", sa.MetaData(), autoload_with=engine)
    with engine.connect() as connection:
        connection.execute(declared.insert(), row)
        connection.execute(declared.insert(), [{**row, "id": 8, "note": None}, {**row, "id": 9}])
        connection.execute(reflected.insert(), {**row, "id": 10})
        read = connection.execute(sa.select(declared).where(declared.c.id == 7)).mappings().one()
        assert dict(read) == row
        again = sa.select(reflected.c.amount, reflected.c.day).order_by(reflected.c.id)
        assert list(connection.execute(again)) == [(row["amount"], row["day"])] * 4
        # Three statements wrote them, so there are three commits, however many rows.
        commits = connection.execute(sa.text("SELECT count(*) FROM `declared$snapshots`")).scalar()
        assert commits == 3
        connection.execute(
            declared.update()
            .where(declared.c.day == row["day"], declared.c.id == 8)
            .values(ok=False)
        )
        connection.execute(declared.delete().where(declared.c.id == 9))
        left = connection.execute(sa.select(declared.c.id, declared.c.ok).order_by("id"))
        assert list(left) == [(7, True), (8, False), (10, True)]
    metadata.drop_all(engine)
    assert not sa.inspect(engine).has_table("declared")


def test_what_would_not_be_kept_is_refused(engine: sa.Engine) -> None:
    table = sa.Table("u", sa.MetaData(), sa.Column("a", sa.Integer, unique=True))
    with pytest.raises(sa.exc.CompileError, match="PRIMARY KEY"):
        table.create(engine)


def test_pandas(engine: sa.Engine) -> None:
    """`to_sql` and back, with pandas' index; append and replace."""
    frame = pd.DataFrame(
        {
            "n": [1, 2, None],
            "text": ["a", None, "ü"],
            "at": pd.to_datetime(["2026-01-01 01:02:03", None, "2026-01-03 00:00:00"]),
        }
    )
    frame.to_sql("framed", engine)
    frame.to_sql("framed", engine, if_exists="append")
    read = pd.read_sql("SELECT * FROM framed ORDER BY `index`, n", engine)
    assert read["index"].tolist() == [0, 0, 1, 1, 2, 2]
    pd.testing.assert_frame_equal(
        read.iloc[::2].set_index("index"),
        frame.rename_axis("index"),
        check_dtype=False,
        check_index_type=False,
        check_column_type=False,
    )
    frame.head(1).to_sql("framed", engine, if_exists="replace", index=False)
    assert pd.read_sql("SELECT count(*) AS n FROM framed", engine)["n"].tolist() == [1]
