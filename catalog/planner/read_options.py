"""The options of one read."""

from __future__ import annotations

from typing import Final

from table_store.catalog.planner.endpoint import Argument
from table_store.storage.kernel.options import OptionValues
from table_store.storage.stream_options import (
    STREAM_MAX_BYTES_PER_TRIGGER,
    STREAM_MAX_FILES_PER_TRIGGER,
    STREAM_MAX_ROWS_PER_TRIGGER,
)
from table_store.storage.table_option_rules import parse_read_options

# What Spark's own sources call them, in small letters.
_SPARK_S_NAMES: Final = {
    "maxfilespertrigger": STREAM_MAX_FILES_PER_TRIGGER.key,
    "maxrowspertrigger": STREAM_MAX_ROWS_PER_TRIGGER.key,
    "maxbytespertrigger": STREAM_MAX_BYTES_PER_TRIGGER.key,
}
_SPARK_S_OWN: Final = frozenset(
    """
    versionasof timestampasof path startingversion endingversion startingtimestamp endingtimestamp
    startingboundinclusive endingboundinclusive deduplicationmode computeupdates
    """.split()  # noqa: SIM905 - a list of words reads better as prose
)


def read_options(argument: Argument) -> OptionValues:
    """What `SELECT … FROM t WITH (…)` says, without what `spark.read` itself adds or looks at.

    Raises:
        UnknownOptionError: a key is no option.
        InvalidOptionError: a value is not allowed, or the option is not one of a read.
    """
    given: dict[str, str] = argument.get("options", {})
    return parse_read_options(
        {
            _SPARK_S_NAMES.get(key.lower(), key): value
            for key, value in given.items()
            if key.lower() not in _SPARK_S_OWN
        }
    )
