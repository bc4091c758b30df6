"""What one INSERT may be told, by a hint or by `WITH (…)` after the table's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.storage.table_option_rules import parse_write_options
from table_store.storage.table_options import CHANGE_TRACKING, CHANGE_TYPE_COLUMN


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """The closed set of write options. `is_tracked` None leaves it to the table's option."""

    is_tracked: bool | None = None
    change_type_column: str | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """Read the options of a statement.

        Raises:
            UnknownOptionError: a key is none of the closed set.
            InvalidOptionError: a value is not allowed, or the option is not one of a write.
        """
        values = parse_write_options(options)
        tracked = values.get(CHANGE_TRACKING) if values.is_given(CHANGE_TRACKING) else None
        return cls(tracked, values.get(CHANGE_TYPE_COLUMN))
