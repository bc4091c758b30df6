"""Which options go together, and what one statement may be given."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.connector_options import (
    CONNECTOR,
    TAKEN,
)
from table_store.storage.options.log_options import (
    LOG_CHANGELOG_MODE,
    LOG_CONSISTENCY,
    LOG_SCAN,
    LOG_SCAN_TIMESTAMP_MILLS,
)
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.table_options import (
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    TABLE_OPTIONS,
)


def check_together(options: Mapping[str, str], *, has_key: bool) -> None:
    """Check that the options of a table go together, and with its having a key or none.

    Args:
        options: All options that the table has or would have.
        has_key: Whether it has a primary key.

    Raises:
        UnknownOptionError: A key was not declared; names the nearest one.
        InvalidOptionError: A value is not allowed, or not together with another.
    """
    values = TABLE_OPTIONS.parse(options, OptionScope.TABLE)
    _check_connector(values)
    _check_log(values, has_key=has_key)
    _check_scan(values)
    if values.get(SNAPSHOT_NUM_RETAINED_MIN) > values.get(SNAPSHOT_NUM_RETAINED_MAX):
        raise InvalidOptionError(
            key=SNAPSHOT_NUM_RETAINED_MAX.key,
            value=values.text.get(SNAPSHOT_NUM_RETAINED_MAX.key),
            reason=f"it is less than {SNAPSHOT_NUM_RETAINED_MIN.key!r}",
        )


def parse_read_options(given: Mapping[str, str]) -> OptionValues:
    """Return the typed options of one read (`SELECT … FROM t WITH (…)`).

    Raises:
        UnknownOptionError, InvalidOptionError: as `check_together`.
    """
    values = TABLE_OPTIONS.parse(given, OptionScope.READ)
    _check_scan(values)
    return values


def parse_write_options(given: Mapping[str, str]) -> OptionValues:
    """Return the typed options of one write (`INSERT INTO t WITH (…)`).

    Raises:
        UnknownOptionError, InvalidOptionError: as `check_together`.
    """
    return TABLE_OPTIONS.parse(given, OptionScope.WRITE)


def _check_connector(values: OptionValues) -> None:
    connector = values.get(CONNECTOR)
    taken = () if connector is None else TAKEN[connector]
    for key, value in values.text.items():
        if connector is None and TABLE_OPTIONS.is_private(key):
            continue
        declared = TABLE_OPTIONS.find(key)
        if connector is not None and declared not in taken:
            raise InvalidOptionError(
                key=key,
                value=value,
                reason=f"a table with the connector {connector!r} stores no rows, and does not "
                "take it; leave it out",
            )
        if connector is None and any(declared in options for options in TAKEN.values()):
            raise InvalidOptionError(
                key=key,
                value=value,
                reason=f"it needs a {CONNECTOR.key!r}, such as 'datagen'; a managed table does not "
                "take it",
            )


def _check_log(values: OptionValues, *, has_key: bool) -> None:
    consistency, mode = values.get(LOG_CONSISTENCY), values.get(LOG_CHANGELOG_MODE)
    if not has_key and consistency == "eventual":
        raise InvalidOptionError(
            key=LOG_CONSISTENCY.key,
            value=consistency,
            reason="it needs a primary key, by which consumers put intermediate states right; "
            "declare one or use 'transactional'",
        )
    if not has_key and mode == "upsert":
        raise InvalidOptionError(
            key=LOG_CHANGELOG_MODE.key,
            value=mode,
            reason="it needs a primary key; declare one or use 'all'",
        )
    if mode == "all" and consistency == "eventual":
        raise InvalidOptionError(
            key=LOG_CHANGELOG_MODE.key,
            value=mode,
            reason=f"it needs {LOG_CONSISTENCY.key!r} = 'transactional'",
        )


def _check_scan(values: OptionValues) -> None:
    has_time = values.is_given(LOG_SCAN_TIMESTAMP_MILLS)
    if values.get(LOG_SCAN) == "from-timestamp" and not has_time:
        raise InvalidOptionError(
            key=LOG_SCAN.key,
            value="from-timestamp",
            reason=f"it needs {LOG_SCAN_TIMESTAMP_MILLS.key!r}",
        )
    if has_time and values.get(LOG_SCAN) != "from-timestamp":
        raise InvalidOptionError(
            key=LOG_SCAN_TIMESTAMP_MILLS.key,
            value=values.text[LOG_SCAN_TIMESTAMP_MILLS.key],
            reason=f"it needs {LOG_SCAN.key!r} = 'from-timestamp'",
        )
