"""Creates and drops the log of a table together with it, and names its topic in Kafka."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Final

from table_store.catalog.tables.listeners import TableContext, TableListener, installed_listeners
from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.log_store.log_settings import LogSystem, log_system
from table_store.storage.log_store.log_stores import log_store
from table_store.storage.options.log_options import (
    LOG_KAFKA,
    LOG_KAFKA_BOOTSTRAP_SERVERS,
    LOG_KAFKA_TOPIC,
    LOG_RETENTION,
    LOG_SYSTEM,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_NAME_LENGTH_MAX: Final = 200
_UNSAFE: Final = re.compile(r"[^a-zA-Z0-9._-]")


def topic_name(catalog: str, namespace: str, table: str, *, suffix: str = "") -> str:
    """Return `catalog.namespace.table` in a form that Kafka takes.

    If that changes the name, a hash is added, so that no two tables get the same topic.
    """
    plain = f"{catalog}.{namespace}.{table}"
    safe = _UNSAFE.sub("_", plain)[:_NAME_LENGTH_MAX]
    if safe != plain:
        safe += "-" + hashlib.sha256(plain.encode()).hexdigest()[:8]
    return safe + (f"-{suffix}" if suffix else "")


def with_topic(
    options: Mapping[str, str], given: Mapping[str, str], topic: str
) -> Mapping[str, str]:
    """Return the options of a new table with the name of its topic, if it is to have one.

    Args:
        options: all options, with those of the session.
        given: those of the statement; the session's settings for Kafka alone make no topic.
        topic: the name, unless the statement gives one.

    Raises:
        InvalidOptionError: no brokers are known, or the client has no such property.
    """
    values = TABLE_OPTIONS.parse(options, OptionScope.TABLE)
    if log_system(values) is not LogSystem.KAFKA:
        start = LOG_KAFKA.prefix
        return FrozenMap(
            (key, text)
            for key, text in options.items()
            if key in given or not key.startswith(start)
        )
    if values.get(LOG_KAFKA_BOOTSTRAP_SERVERS) is None:
        raise InvalidOptionError(
            key=LOG_SYSTEM.key,
            value=LogSystem.KAFKA.value,
            reason=f"it needs {LOG_KAFKA_BOOTSTRAP_SERVERS.key!r}",
        )
    return FrozenMap({LOG_KAFKA_TOPIC.key: topic, **options})


class LogStoreListener:
    """Makes the log of a table before its name appears, and removes it with the table."""

    def on_create_table(self, context: TableContext) -> None:
        """See `TableListener`."""
        log_store(context.schema).create()

    def on_alter_table(self, context: TableContext, before: TableSchema) -> None:
        """See `TableListener`."""
        log = log_store(context.schema)
        log.check_settings()
        if _retention(context.schema) != _retention(before):
            log.set_retention()

    def on_drop_table(self, context: TableContext) -> None:
        """See `TableListener`."""
        log_store(context.schema).drop()


def _retention(schema: TableSchema) -> timedelta | None:
    return TABLE_OPTIONS.parse(schema.options, OptionScope.TABLE).get(LOG_RETENTION)


def all_listeners() -> tuple[TableListener, ...]:
    """Return the listener for logs, and those of other installed distributions."""
    return (LogStoreListener(), *installed_listeners())
