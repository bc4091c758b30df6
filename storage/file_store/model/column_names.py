"""The names that columns may have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from table_store.storage.file_store.model.data_file import KIND_COLUMN, SEQUENCE_COLUMN
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import ArrayType, DataType, MapType, StructType
from table_store.storage.kernel.valid_text import is_valid_text

_RESERVED_NAMES: Final = frozenset(
    name.lower()
    for name in (
        SEQUENCE_COLUMN,
        KIND_COLUMN,
        "_change_type",
        "_commit_version",
        "_commit_timestamp",
    )
)
"""Names (any case) which data files and change reads use for themselves."""

RESERVED_PREFIX: Final = "__table_store_"
"""What the names (any case) begin with that statements give to columns of their own."""


def check_names(columns: Sequence[tuple[str, DataType]]) -> None:
    """Check the names of a table's columns and of the fields inside of them.

    Raises:
        InvalidSchemaError: there is no column, or a name is empty, reserved, or there twice.
    """
    if not columns:
        raise InvalidSchemaError(reason="a table needs at least one column")
    _check_siblings([name for name, _ in columns])
    for name, data_type in columns:
        folded = name.lower()
        if folded in _RESERVED_NAMES or folded.startswith(RESERVED_PREFIX):
            raise InvalidSchemaError(
                reason="the name is reserved for the table store; choose another", column=name
            )
        _check_nested(data_type)


def _check_nested(data_type: DataType) -> None:
    match data_type:
        case StructType(fields):
            _check_siblings([f.name for f in fields])
            for f in fields:
                _check_nested(f.type)
        case ArrayType():
            _check_nested(data_type.element)
        case MapType():
            _check_nested(data_type.key)
            _check_nested(data_type.value)


def _check_siblings(names: Sequence[str]) -> None:
    for name in names:
        if not name or "\0" in name:
            raise InvalidSchemaError(reason="a column name is empty or holds NUL", column=name)
        if not is_valid_text(name):
            reason = "a column name holds half of a character (a lone surrogate)"
            raise InvalidSchemaError(reason=reason, column=name)
    name, count = Counter(n.lower() for n in names).most_common(1)[0] if names else ("", 0)
    if count > 1:
        raise InvalidSchemaError(
            reason="the column is there more than once (case does not count)", column=name
        )
