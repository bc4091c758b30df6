"""Options as they are given: at CREATE, in an ALTER, by a session, by one statement."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.options import OptionValues, Scope
from table_store.storage.table_options import (
    LOG_CHANGELOG_MODE,
    LOG_CONSISTENCY,
    LOG_SCAN,
    LOG_SCAN_TIMESTAMP_MILLS,
    SNAPSHOT_NUM_RETAINED_MAX,
    SNAPSHOT_NUM_RETAINED_MIN,
    TABLE_OPTIONS,
)


def parse_table_options(given: Mapping[str, str], *, has_primary_key: bool) -> OptionValues:
    """Return the typed options of a table, given with its definition.

    Raises:
        UnknownOptionError: A key was not declared; names the nearest one.
        InvalidOptionError: A value is not allowed, or not together with another or without a
            primary key.
    """
    values = TABLE_OPTIONS.parse(given, Scope.TABLE)
    _check_log(values, has_primary_key=has_primary_key)
    _check_scan(values)
    if values.get(SNAPSHOT_NUM_RETAINED_MIN) > values.get(SNAPSHOT_NUM_RETAINED_MAX):
        raise InvalidOptionError(
            key=SNAPSHOT_NUM_RETAINED_MAX.key,
            value=values.text.get(SNAPSHOT_NUM_RETAINED_MAX.key),
            reason=f"it is less than {SNAPSHOT_NUM_RETAINED_MIN.key!r}",
        )
    return values


def parse_altered_options(
    before: Mapping[str, str], after: Mapping[str, str], *, has_primary_key: bool
) -> OptionValues:
    """Return the typed options of a table after an ALTER.

    Raises:
        UnknownOptionError, InvalidOptionError: As when the table is created, and when an option
            would change that is fixed then.
    """
    values = parse_table_options(after, has_primary_key=has_primary_key)
    TABLE_OPTIONS.check_change(before, after)
    return values


def enriched_options(
    given: Mapping[str, str], session_settings: Mapping[str, str], *, has_primary_key: bool
) -> Mapping[str, str]:
    """Return the options a new table is stored with: its own, and the session's for the rest.

    Args:
        given: The options of the CREATE statement.
        session_settings: All settings of the session; those that start with `table-storage.` count.
        has_primary_key: Whether the definition has one.

    Raises:
        UnknownOptionError, InvalidOptionError: From either place.
    """
    own = parse_table_options(given, has_primary_key=has_primary_key)
    session = TABLE_OPTIONS.parse_session(session_settings)
    return parse_table_options({**session.text, **own.text}, has_primary_key=has_primary_key).text


def parse_read_options(given: Mapping[str, str]) -> OptionValues:
    """Return the typed options of one read (`SELECT … FROM t WITH (…)`); raises as above."""
    values = TABLE_OPTIONS.parse(given, Scope.READ)
    _check_scan(values)
    return values


def parse_write_options(given: Mapping[str, str]) -> OptionValues:
    """Return the typed options of one write (`INSERT INTO t WITH (…)`); raises as above."""
    return TABLE_OPTIONS.parse(given, Scope.WRITE)


def _check_log(values: OptionValues, *, has_primary_key: bool) -> None:
    consistency, mode = values.get(LOG_CONSISTENCY), values.get(LOG_CHANGELOG_MODE)
    if not has_primary_key and consistency == "eventual":
        raise InvalidOptionError(
            key=LOG_CONSISTENCY.key,
            value=consistency,
            reason="it needs a primary key, by which consumers put intermediate states right; "
            "declare one or use 'transactional'",
        )
    if not has_primary_key and mode == "upsert":
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
