"""Goal: a table's options are the statement's over the session's, complete, known and possible."""

from __future__ import annotations

import pytest

from table_store.catalog.definition.option_enrichment import (
    changed_options,
    enriched_options,
)
from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from table_store.storage.options.table_option_rules import check_together


def test_the_statement_wins_over_the_session() -> None:
    settings = {
        "table-storage.bucket": "10",
        "table-storage.log.kafka.bootstrap.servers": "localhost:9092",
        "spark.sql.shuffle.partitions": "2",
    }
    assert enriched_options({"bucket": "3", "write-only": "true"}, settings) == {
        "bucket": "3",
        "write-only": "true",
        "log.kafka.bootstrap.servers": "localhost:9092",
    }


@pytest.mark.parametrize(
    ("given", "settings", "nearest"),
    [
        ({"buckets": "1"}, {}, "bucket"),
        ({"table-storage.bucket": "1"}, {}, "bucket"),
        ({}, {"table-storage.file_format": "orc"}, "table-storage.file.format"),
    ],
)
def test_unknown_options_name_the_nearest(
    given: dict[str, str], settings: dict[str, str], nearest: str
) -> None:
    with pytest.raises(UnknownOptionError, match=f"'{nearest}'"):
        enriched_options(given, settings)


@pytest.mark.parametrize("setting", ["table-storage.nope", "table-storage.bucket"])
def test_what_the_session_said_is_named_as_it_was_said(setting: str) -> None:
    with pytest.raises((UnknownOptionError, InvalidOptionError), match=f"'{setting}'"):
        enriched_options({}, {setting: "x"})


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({"bucket": "0"}, {}),
        ({"file.format": "csv"}, {}),
        ({"change-type-column": "c"}, {}),
        ({}, {"table-storage.write-only": "true"}),
    ],
    ids=["value", "word", "of a write", "of a table only"],
)
def test_bad_values_and_places_are_refused(given: dict[str, str], settings: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError):
        enriched_options(given, settings)


@pytest.mark.parametrize(
    ("options", "has_key", "is_possible"),
    [
        ({}, False, True),
        ({"log.consistency": "eventual"}, True, True),
        ({"log.consistency": "eventual"}, False, False),
        ({"log.changelog-mode": "upsert"}, True, True),
        ({"log.changelog-mode": "upsert"}, False, False),
        ({"log.changelog-mode": "all"}, False, True),
        ({"log.changelog-mode": "all", "log.consistency": "eventual"}, True, False),
    ],
)
def test_the_log_s_options_go_together(
    options: dict[str, str], has_key: bool, is_possible: bool
) -> None:
    if is_possible:
        check_together(options, has_key=has_key)
    else:
        with pytest.raises(InvalidOptionError, match=r"log\."):
            check_together(options, has_key=has_key)


def test_what_is_fixed_cannot_be_altered() -> None:
    before = {"bucket": "2", "file.path": "/x"}
    assert (
        changed_options(before, {**before, "file.format": "orc"}, has_key=True)["file.format"]
        == "orc"
    )
    assert changed_options({}, {"bucket": "1"}, has_key=True) == {
        "bucket": "1"
    }  # the default, spelt out
    for after in ({"bucket": "3", "file.path": "/x"}, {"bucket": "2"}, {"file.path": "/x"}):
        with pytest.raises(InvalidOptionError, match="fixed"):
            changed_options(before, after, has_key=True)
