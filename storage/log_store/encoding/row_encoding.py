"""Rows as values of messages, as Flink's formats `json`, `csv` and `raw` write them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.log_store.encoding.json_encoding import (
    FLINK,
    TEXT,
    JsonStyle,
    concat_text,
    json_objects,
)
from table_store.storage.log_store.encoding.plain_text import plain_text

_BINARY: Final = pa.large_binary()


class RowEncoder(Protocol):
    """Writes some columns of rows as one value each."""

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """Return a value for each row; only `raw` has NULL."""


@dataclass(frozen=True, slots=True)
class JsonEncoder:
    """An object, whose fields have the names of the columns."""

    names: Sequence[str]
    style: JsonStyle = FLINK

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """See `RowEncoder`."""
        return json_objects(columns, self.names, self.style).cast(_BINARY)


@dataclass(frozen=True, slots=True)
class CsvEncoder:
    """A line with the columns in their order; what needs quotes has them (RFC 4180).

    A line of one column is never empty, for readers leave empty lines out.

    Attributes:
        delimiter: stands between two fields.
        null: what stands for NULL.
    """

    delimiter: str
    null: str

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """See `RowEncoder`."""
        parts: list[pa.Array | pa.Scalar] = []
        for place, column in enumerate(columns):
            if place:
                parts.append(pa.scalar(self.delimiter, TEXT))
            parts.append(self._fields(column))
        lines = concat_text(*parts)
        if len(columns) == 1:
            lines = pc.if_else(pc.equal(lines, ""), '""', lines)
        return lines.cast(_BINARY)

    def _fields(self, column: pa.Array) -> pa.LargeStringArray:
        text = plain_text(column)
        if pa.types.is_string(column.type):
            escaped = pc.replace_substring(text, '"', '""')
            quote = pa.scalar('"', TEXT)
            special = [pc.match_substring(text, s) for s in (self.delimiter, '"', "\n", "\r")]
            if self.null:  # else the text would be read as NULL
                special.append(pc.equal(text, self.null))
            is_special = special[0]
            for other in special[1:]:
                is_special = pc.or_(is_special, other)
            text = pc.if_else(is_special, concat_text(quote, escaped, quote), text)
        return text.fill_null(self.null)


@dataclass(frozen=True, slots=True)
class RawEncoder:
    """The value of the only column, as it is."""

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """See `RowEncoder`."""
        (column,) = columns
        return column.cast(_BINARY)
