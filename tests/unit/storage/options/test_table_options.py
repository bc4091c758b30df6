"""Goal: the declared options are complete, documented, and refused in wrong combinations.

The defaults below are written out from FLIP-188's tables (the first part) and from Paimon's, so a
default that changes by accident fails here.
"""

import ast
import dataclasses
from datetime import timedelta
from typing import Any

import pytest

from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError
from table_store.storage.options import (
    avro_format_options,
    connector_options,
    database_options,
    dead_letter_options,
    filesystem_options,
    kafka_sink_options,
    kafka_source_options,
    log_options,
    message_format_options,
    mysql_source_options,
    postgres_source_options,
    print_options,
    spark_source_options,
    table_options,
)
from table_store.storage.options.options import Option, OptionScope
from table_store.storage.options.table_option_rules import (
    check_together,
    parse_read_options,
    parse_write_options,
)
from table_store.storage.options.table_options import TABLE_OPTIONS
from tests.checkout import REPOSITORY

MB = 1024 * 1024
SESSION_AND_TABLE = {
    "log.system": None,
    "log.kafka.bootstrap.servers": None,
    "log.kafka.timeout": timedelta(seconds=10),
    "log.kafka.topic.replication-factor": None,
    "log.retention": None,
    "log.consistency": "transactional",
    "log.changelog-mode": "auto",
    "log.key.format": "json",
    "log.format": "debezium-json",
    "file.path": None,
    "file.format": "parquet",
    "bucket": 1,
    "duplicate-key": "fail",
}
TABLE = {
    "log.scan": "full",
    "log.scan.timestamp-mills": None,
    "change-tracking": True,
    "num-sorted-run.compaction-trigger": 5,
    "num-levels": None,
    "target-file-size": None,
    "write-buffer-size": 256 * MB,
    "snapshot.num-retained.min": 10,
    "snapshot.num-retained.max": 2**31 - 1,
    "snapshot.time-retained": timedelta(hours=1),
    "snapshot.expire.limit": 50,
    "compaction.max-size-amplification-percent": 200,
    "compaction.size-ratio": 1,
    "manifest.merge-min-count": 10,
    "file.compression": "zstd",
    "file.compression.zstd-level": 1,
    "merge-engine": "deduplicate",
    "source.split.target-size": 128 * MB,
    "commit.max-retries": 10,
    "commit.min-retry-wait": timedelta(milliseconds=10),
    "commit.max-retry-wait": timedelta(seconds=10),
    "write-only": False,
}


def test_keys_defaults_and_session_scope_are_as_specified() -> None:
    declared = {o.key: o for o in TABLE_OPTIONS}
    for key, default in {**SESSION_AND_TABLE, **TABLE}.items():
        assert declared[key].default == default, key
        assert OptionScope.TABLE in declared[key].scopes
    of_session = {k for k, o in declared.items() if OptionScope.SESSION in o.scopes}
    assert of_session == set(SESSION_AND_TABLE)


def test_every_declaration_is_listed_once_and_documented() -> None:
    modules = (
        table_options,
        connector_options,
        kafka_sink_options,
        kafka_source_options,
        message_format_options,
        avro_format_options,
        dead_letter_options,
        print_options,
        database_options,
        mysql_source_options,
        postgres_source_options,
        filesystem_options,
        spark_source_options,
    )
    of_modules = {v.key: v for m in modules for v in vars(m).values() if isinstance(v, Option)}
    of_modules |= {option.key: option for option in avro_format_options.AVRO_FORMAT_OPTIONS}
    declared = [*of_modules.values(), *message_format_options.PART_OPTIONS]
    assert sorted(o.key for o in TABLE_OPTIONS) == sorted(o.key for o in declared)
    for option in TABLE_OPTIONS:
        assert option.doc.endswith("."), option.key
        assert "|" not in option.doc
        assert (option.default is None) or option.derived_default is None


def test_every_default_and_listed_value_is_a_value() -> None:
    for option in TABLE_OPTIONS:
        for text in option.type.allowed:
            assert option.parse(text) is not None
        if isinstance(option.default, str | int) and not isinstance(option.default, bool):
            assert option.parse(str(option.default)) == option.default


def option(**given: str) -> dict[str, str]:
    return {k.replace("__", ".").replace("_", "-"): v for k, v in given.items()}


@pytest.mark.parametrize(
    ("given", "has_primary_key", "key"),
    [
        (option(log__consistency="eventual"), False, "log.consistency"),
        (option(log__changelog_mode="upsert"), False, "log.changelog-mode"),
        (
            option(log__consistency="eventual", log__changelog_mode="all"),
            True,
            "log.changelog-mode",
        ),
        (option(log__scan="from-timestamp"), True, "log.scan"),
        (option(log__scan__timestamp_mills="5"), True, "log.scan.timestamp-mills"),
        ({"snapshot.num-retained.max": "3"}, True, "snapshot.num-retained.max"),
        ({"bucket": "0"}, True, "bucket"),
        ({"bucket": "-1"}, True, "bucket"),
        ({"change-type-column": "c"}, True, "change-type-column"),
    ],
)
def test_refused_at_create(given: dict[str, str], has_primary_key: bool, key: str) -> None:
    with pytest.raises(InvalidOptionError) as caught:
        check_together(given, has_key=has_primary_key)
    assert caught.value.key == key


def test_allowed_at_create() -> None:
    given = option(log__scan="from-timestamp", log__scan__timestamp_mills="5") | {
        "log.kafka.acks": "all",
        "log.consistency": "eventual",
        "log.retention": "7 d",
    }
    check_together(given, has_key=True)
    values = TABLE_OPTIONS.parse(given, OptionScope.TABLE)
    assert values.get(log_options.LOG_RETENTION) == timedelta(days=7)
    assert dict(values.with_prefix(log_options.LOG_KAFKA)) == {"acks": "all"}


def test_unknown_option_names_nearest() -> None:
    with pytest.raises(UnknownOptionError) as caught:
        check_together({"buckets": "3"}, has_key=False)
    assert caught.value.nearest == "bucket"


def test_read_and_write_take_a_closed_set() -> None:
    write = parse_write_options({"change-tracking": "false", "change-type-column": "kind"})
    assert write.get(table_options.CHANGE_TRACKING) is False
    assert write.get(table_options.CHANGE_TYPE_COLUMN) == "kind"
    read = parse_read_options({"source.split.target-size": "1 mb"})
    assert read.get(table_options.SOURCE_SPLIT_TARGET_SIZE) == MB
    with pytest.raises(InvalidOptionError):
        parse_read_options({"bucket": "4"})
    with pytest.raises(InvalidOptionError):
        parse_write_options({"write-buffer-size": "1 gb"})


def test_declarations_cannot_be_changed() -> None:
    some: Any = table_options.BUCKET
    with pytest.raises(dataclasses.FrozenInstanceError):
        some.default = 2


def test_every_option_is_read_somewhere() -> None:
    """An option that nothing reads is a promise without effect. `log.*` waits for the log."""
    used = set()
    for folder in ("storage", "catalog", "sql_ext"):
        for module in (REPOSITORY / folder).rglob("*.py"):
            if module.name in {"table_options.py", "options.py"}:
                continue
            tree = ast.parse(module.read_text())
            used |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
            used |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    unread = {
        o.key
        for name, o in vars(table_options).items()
        if isinstance(o, Option)
        and not o.key.startswith("log.")
        and len(o.type.allowed) != 1
        and name not in used
    }
    assert unread == set()
