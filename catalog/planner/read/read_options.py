"""The options of one read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.log_options import LOG_SCAN, LOG_SCAN_TIMESTAMP_MILLS
from table_store.storage.options.options import OptionScope, OptionValues
from table_store.storage.options.stream_options import (
    STREAM_MAX_BYTES_PER_TRIGGER,
    STREAM_MAX_FILES_PER_TRIGGER,
    STREAM_MAX_ROWS_PER_TRIGGER,
)
from table_store.storage.options.table_option_rules import parse_read_options
from table_store.storage.options.table_options import TABLE_OPTIONS

# Names of these options in Spark's own sources, in lower case.
_SPARK_S_NAMES: Final = {
    "maxfilespertrigger": STREAM_MAX_FILES_PER_TRIGGER.key,
    "maxrowspertrigger": STREAM_MAX_ROWS_PER_TRIGGER.key,
    "maxbytespertrigger": STREAM_MAX_BYTES_PER_TRIGGER.key,
}
_OF_READS: Final = frozenset(o.key for o in TABLE_OPTIONS if OptionScope.READ in o.scopes)
_SPARK_S_OWN: Final = frozenset({"versionasof", "timestampasof", "path"})
_OF_CHANGES: Final = frozenset(
    """
    startingversion endingversion startingtimestamp endingtimestamp startingboundinclusive
    endingboundinclusive deduplicationmode computeupdates
    """.split()  # noqa: SIM905 - a list of words reads better as prose
)


def read_options(
    stated: Mapping[str, str], schema: TableSchema | None = None, *, of_changes: bool = False
) -> OptionValues:
    """The options in `SELECT … FROM t WITH (…)`, without those that `spark.read` adds or evaluates.

    With `schema`, the table's options are used for options that the read itself does not state.
    `of_changes`: of a read by `changes`, for which Spark evaluates more.

    Raises:
        UnknownOptionError: a key is no option.
        InvalidOptionError: a value is not allowed, or the option is not one of such a read.
    """
    given: dict[str, str] = {}
    for key, value in stated.items():
        name = key.lower()
        if name in _OF_CHANGES and not of_changes:
            raise InvalidOptionError(
                key=key,
                value=value,
                reason="it is for a read of changes; say .changes(…) instead of .table(…), or let "
                f"a stream begin where {LOG_SCAN.key!r} says",
            )
        if name not in _SPARK_S_OWN | _OF_CHANGES:
            given[_SPARK_S_NAMES.get(name, key)] = value
    own = {} if schema is None else {k: v for k, v in schema.options.items() if k in _OF_READS}
    if LOG_SCAN.key in given:
        own.pop(LOG_SCAN_TIMESTAMP_MILLS.key, None)  # it belongs to the table's `log.scan`
    return parse_read_options({**own, **given})
