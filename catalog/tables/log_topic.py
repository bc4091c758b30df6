"""The log of a table comes and goes with it; and what its topic in Kafka is called."""

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
    """Return `catalog.namespace.table` as Kafka takes it.

    A name that had to be changed ends with a hash, so that no two become one.
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
        options: complete, those of the session included.
        given: in the statement; what the session says of Kafka is nothing to a table without.
        topic: to be called so where the statement does not say.

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
    """Return the listener of logs and those that other distributions have installed."""
    return (LogStoreListener(), *installed_listeners())
