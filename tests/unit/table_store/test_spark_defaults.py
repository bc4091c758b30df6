"""Goal: our settings win in a user's spark-defaults.conf, and taking them back leaves every byte.

Method: table of files, and a property over any text.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.spark_defaults import overlaid, properties, with_block, without_block

OURS = "spark.sql.extensions  our.Ext\nspark.sql.defaultCatalog table_store\n"


@pytest.mark.parametrize(
    "users",
    [
        "",
        "spark.executor.memory 2g\n",
        "spark.executor.memory 2g",
        "# only a remark\n\n\n",
        "spark.sql.defaultCatalog = hive\n",
    ],
)
def test_ours_win_and_come_off_again(users: str) -> None:
    both = with_block(users, OURS)
    assert properties(both)["spark.sql.defaultCatalog"] == "table_store"
    assert both.startswith(users)
    assert without_block(both) == users
    assert with_block(both, OURS) == both


def test_extensions_of_the_user_stay() -> None:
    both = with_block("spark.sql.extensions a.B,our.Ext\n", OURS)
    assert properties(both)["spark.sql.extensions"] == "our.Ext,a.B"


def test_a_default_format_of_the_user_stays() -> None:
    ours = OURS + "# why\nspark.sql.sources.default ours\nspark.last 1\n"
    both = with_block("spark.sql.sources.default = delta\n", ours)
    assert properties(both)["spark.sql.sources.default"] == "delta"
    assert properties(both)["spark.last"] == "1"
    assert properties(with_block("", ours))["spark.sql.sources.default"] == "ours"


def test_patterns_of_secrets_of_the_user_stay() -> None:
    keys = ("spark.redaction.regex", "spark.sql.redaction.string.regex")
    for key in keys:
        both = with_block(f"{key} theirs\n", OURS + "".join(f"{k} ours\n" for k in keys))
        assert {k: properties(both)[k] for k in keys} == {
            **dict.fromkeys(keys, "ours"),
            key: "theirs",
        }


def test_an_older_block_is_replaced() -> None:
    old = with_block("spark.x 1\n", OURS)
    new = with_block(old, "spark.sql.extensions our.Ext2\n")
    assert "our.Ext\n" not in new
    assert new.count(">>>") == 2
    assert properties(new) == {"spark.x": "1", "spark.sql.extensions": "our.Ext2"}


@given(st.text() | st.text("\n\r a"))
def test_any_file_keeps_its_content(users: str) -> None:
    both = with_block(users, OURS)
    assert both.startswith(users)
    assert with_block(both, OURS) == both
    assert without_block(both) == users


def test_properties_are_read_as_spark_reads_them() -> None:
    text = "# no\n\nspark.a 1\nspark.b=2\n  spark.c : 3 \nspark.a   4 5\n"
    assert properties(text) == {"spark.a": "4 5", "spark.b": "2", "spark.c": "3"}


def test_overlay_replaces_and_adds() -> None:
    merged = overlaid("# why\nspark.a 1\nspark.b 2\n", "spark.b 3\nspark.c 4\n")
    assert properties(merged) == {"spark.a": "1", "spark.b": "3", "spark.c": "4"}
    assert merged.startswith("# why\n")
