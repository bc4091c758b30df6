"""Goal: texts of options become exactly the values they stand for, or are refused with what to use.

Method: tables of texts and values for each type; a small declared set for keys and scopes.
"""

from datetime import timedelta
from typing import Any

import pytest

from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from table_store.storage.options.options import (
    BOOLEAN,
    DURATION,
    TEXT,
    Option,
    OptionPrefix,
    OptionScope,
    OptionSet,
    OptionType,
    integer,
    long,
    memory_size,
    one_of,
)

BOTH = frozenset({OptionScope.SESSION, OptionScope.TABLE})
SIZE = Option(key="file-size", type=memory_size(), default=4, scopes=BOTH, doc="")
MODE = Option(
    key="mode", type=one_of("fast", "slow"), default="fast", scopes=frozenset({OptionScope.TABLE}),
    doc="", mutable=False,
)  # fmt: skip
AFTER: Option[timedelta | None] = Option(
    key="wait.after", type=DURATION, default=None, scopes=frozenset({OptionScope.READ}), doc=""
)
CLIENT = OptionPrefix(prefix="client.", scopes=BOTH, doc="")
DECLARED = OptionSet((SIZE, MODE, AFTER), prefixes=(CLIENT,))


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        (integer(), "10", 10),
        (integer(0), " +0 ", 0),
        (long(-5), "-5", -5),
        (BOOLEAN, "TRUE", True),
        (BOOLEAN, " false ", False),
        (one_of("a", "b"), "B", "b"),
        (TEXT, "host:1,other:2 é", "host:1,other:2 é"),
        (DURATION, "7 d", timedelta(days=7)),
        (DURATION, "1h", timedelta(hours=1)),
        (DURATION, "30 MIN", timedelta(minutes=30)),
        (DURATION, "250", timedelta(milliseconds=250)),
        (DURATION, "10 ms", timedelta(milliseconds=10)),
        (DURATION, "PT1H30M", timedelta(minutes=90)),
        (DURATION, "P2D", timedelta(days=2)),
        (DURATION, "pt0.5s", timedelta(milliseconds=500)),
        (memory_size(), "256 mb", 256 * 2**20),
        (memory_size(), "64KB", 64 * 2**10),
        (memory_size(), "1GiB", 2**30),
        (memory_size(), "123", 123),
    ],
)
def test_text_becomes_value(kind: OptionType[Any], text: str, value: Any) -> None:
    assert kind.parse(text) == value
    assert type(kind.parse(text)) is type(value)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (integer(), "0"),
        (integer(), "2147483648"),
        (integer(), "1.5"),
        (integer(), "1_000"),
        (integer(), "٣"),
        (integer(), "9" * 10_000),
        (integer(), ""),
        (BOOLEAN, "yes"),
        (one_of("a", "b"), "c"),
        (TEXT, ""),
        (TEXT, "a\nb"),
        (TEXT, "a\0"),
        (DURATION, "soon"),
        (DURATION, "-1 h"),
        (DURATION, "1 fortnight"),
        (DURATION, "P"),
        (DURATION, "PT"),
        (DURATION, "P1DT"),
        (DURATION, "999999999999999999 d"),
        (memory_size(), "256 mbit"),
        (memory_size(), "-1"),
        (memory_size(), "0"),
        (memory_size(), "999999999999999999 tb"),
    ],
)
def test_other_texts_are_refused(kind: OptionType[Any], text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        kind.parse(text)


def test_bad_value_names_key_and_allowed_values() -> None:
    with pytest.raises(InvalidOptionError, match=r"'mode' = 'quick'.*'fast', 'slow'") as caught:
        DECLARED.parse({"mode": "quick"}, OptionScope.TABLE)
    assert (caught.value.key, caught.value.value) == ("mode", "quick")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        ("file-sise", "file-size"),
        ("FILE_SIZE", "file-size"),
        ("table-storage.mode", "mode"),
        ("wait-after", "wait.after"),
        ("zzz", None),
        ("client.", None),
    ],
)
def test_unknown_key_names_the_nearest(key: str, nearest: str | None) -> None:
    with pytest.raises(UnknownOptionError) as caught:
        DECLARED.parse({key: "1"}, OptionScope.READ)
    assert caught.value.nearest == nearest


@pytest.mark.parametrize(
    "key", ["file-sise", "client.", "wait.never", "WAIT.never", "table-storage.x"]
)
def test_a_table_refuses_what_may_be_meant_for_us(key: str) -> None:
    with pytest.raises(UnknownOptionError):
        DECLARED.parse({key: "1"}, OptionScope.TABLE)


@pytest.mark.parametrize("key", ["zzz", "owner.team", "dbt_run_started_at"])
def test_a_table_keeps_properties_of_others(key: str) -> None:
    """As text, also through an ALTER, where everything else is checked as before."""
    assert DECLARED.parse({key: "1", "mode": "slow"}, OptionScope.TABLE).text[key] == "1"
    DECLARED.check_change({key: "1"}, {key: "2"})
    with pytest.raises(InvalidOptionError):
        DECLARED.check_change({key: "1", "mode": "slow"}, {key: "1", "mode": "fast"})


def test_values_are_typed_and_default() -> None:
    values = DECLARED.parse({"file-size": "2 kb", "client.x.y": " raw "}, OptionScope.TABLE)
    assert values.get(SIZE) == 2048
    assert values.get(MODE) == "fast"
    assert values.get(AFTER) is None
    assert values.is_given(SIZE)
    assert not values.is_given(MODE)
    assert dict(values.with_prefix(CLIENT)) == {"x.y": " raw "}
    assert dict(values.text) == {"file-size": "2 kb", "client.x.y": " raw "}


def test_option_of_another_place_is_refused() -> None:
    with pytest.raises(InvalidOptionError, match="option of a table, not of a session"):
        DECLARED.parse_session({"table-storage.mode": "slow"})
    with pytest.raises(InvalidOptionError, match="option of a read, not of a table"):
        DECLARED.parse({"wait.after": "1 s"}, OptionScope.TABLE)


def test_session_settings_are_the_prefixed_ones() -> None:
    settings = {"table-storage.file-size": "8", "spark.sql.x": "1", "mode": "slow"}
    values = DECLARED.parse_session(settings)
    assert dict(values.text) == {"file-size": "8"}


def test_fixed_option_may_not_change() -> None:
    DECLARED.check_change({"mode": "slow"}, {"mode": "SLOW", "file-size": "9"})
    DECLARED.check_change({"mode": "fast"}, {})
    for after in ({}, {"mode": "fast"}):
        with pytest.raises(InvalidOptionError, match="fixed when the table is created"):
            DECLARED.check_change({"mode": "slow"}, after)
