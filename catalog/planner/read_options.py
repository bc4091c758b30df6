"""The options of one read."""

from __future__ import annotations

from typing import Final

from table_store.catalog.planner.endpoint import Argument
from table_store.storage.kernel.options import OptionValues
from table_store.storage.table_option_rules import parse_read_options

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
    return parse_read_options({k: v for k, v in given.items() if k.lower() not in _SPARK_S_OWN})
