"""What the options of a streaming INSERT say of its rows, and which go to its writes."""

from __future__ import annotations

from collections.abc import Mapping

from table_store.catalog.tables.write_options import WriteOptions
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.options.table_option_rules import parse_write_options
from table_store.storage.options.table_options import SINK_EMIT


def is_emitted_on_watermark(options: Mapping[str, str]) -> bool:
    """Whether an INSERT with options brings a window's rows once, when it is closed.

    Raises:
        InvalidOptionError: the option that says it has another value.
    """
    given = {key: value for key, value in options.items() if key == SINK_EMIT.key}
    return parse_write_options(given).get(SINK_EMIT) == "on-watermark"


def check_options(options: Mapping[str, str]) -> None:
    """Return quietly if they are those of an INSERT in streaming mode.

    Raises:
        UnknownOptionError: there is no such option.
        InvalidOptionError: a value is not allowed, or the option is not for writes.
    """
    is_emitted_on_watermark(options)
    WriteOptions.parse(write_options(options))


def write_options(options: Mapping[str, str]) -> FrozenMap[str, str]:
    """Return the options without that."""
    return FrozenMap({key: value for key, value in options.items() if key != SINK_EMIT.key})
