"""What one INSERT may be told, by a hint or by `WITH (…)` after the table's name."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError

CHANGE_TRACKING = "change-tracking"
CHANGE_TYPE_COLUMN = "change-type-column"
_KEYS = (CHANGE_TRACKING, CHANGE_TYPE_COLUMN)


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
            InvalidOptionError: `change-tracking` is neither true nor false.
        """
        tracked: bool | None = None
        for key, value in options.items():
            if key not in _KEYS:
                nearest = difflib.get_close_matches(key, _KEYS, n=1)
                raise UnknownOptionError(key=key, nearest=nearest[0] if nearest else None)
            if key == CHANGE_TRACKING:
                if value.lower() not in ("true", "false"):
                    raise InvalidOptionError(key=key, value=value, reason="use true or false")
                tracked = value.lower() == "true"
        return cls(tracked, options.get(CHANGE_TYPE_COLUMN))
