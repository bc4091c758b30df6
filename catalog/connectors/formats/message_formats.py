"""How the values of messages hold rows: `'format' = 'json' | 'csv' | 'raw'`.

Whole arrays of values are parsed at once. Where Arrow refuses them, halves are tried until the
values are left that are no rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from codecs import BOM_UTF8
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from table_store.catalog.connectors.formats.checked_column import checked_column
from table_store.catalog.connectors.formats.missing_fields import check_fields
from table_store.catalog.connectors.formats.spelled_numbers import without_quotes
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.errors import UnsupportedTypeError
from table_store.storage.kernel.nested_array import recast
from table_store.storage.kernel.types import (
    BINARY,
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    ArrayType,
    DataType,
    DecimalType,
    StructType,
    TimeType,
    to_arrow,
)
from table_store.storage.log_store.encoding.json_encoding import concat_text

_PLAIN: Final = frozenset((BOOLEAN, BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, STRING))
_TIMES: Final = frozenset((TIMESTAMP, TIMESTAMP_NTZ))
_OBJECT: Final = r"(?s)^\s*\{.*\}\s*$"
_BLOCK_BYTES_MAX: Final = 1 << 30
_REASON_LENGTH_MAX: Final = 300


@dataclass(frozen=True, slots=True)
class BadValue:
    """The value at a place is no row."""

    place: int
    reason: str


@dataclass(frozen=True, slots=True)
class ParsedRows:
    """The rows of the values from `first` on, one after the other."""

    first: int
    columns: tuple[pa.Array, ...]
    count: int


@dataclass(frozen=True, slots=True)
class MessageFormat(ABC):
    """A format; `columns` are those of the table that the values hold, in order."""

    columns: tuple[Field, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(field.name for field in self.columns)

    @property
    def field_delimiter(self) -> str | None:
        """What stands between fields that may be quoted, with ends of lines; None: nothing does."""
        return None

    def parsed(
        self, values: pa.LargeBinaryArray, names: Sequence[str]
    ) -> Iterator[ParsedRows | BadValue]:
        """Yield all values in order, as rows with some of the columns; there is no NULL."""
        fields = [field for name in names for field in self.columns if field.name == name]
        pending = [(0, len(values))] if len(values) else []
        while pending:
            first, count = pending.pop()
            try:
                arrays = self._arrays(values.slice(first, count), fields)
                columns = (checked_column(*pair) for pair in zip(arrays, fields, strict=True))
                yield ParsedRows(first, tuple(columns), count)
            except pa.ArrowInvalid as error:
                if count == 1:
                    reason = str(error).partition("\n")[0].removesuffix(" in row 0")
                    yield BadValue(first, reason[:_REASON_LENGTH_MAX])
                else:
                    half = count // 2
                    pending += [(first + half, count - half), (first, half)]

    @abstractmethod
    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        """Return columns of one row for each value.

        Raises:
            pyarrow.ArrowInvalid: some are no rows.
        """


@dataclass(frozen=True, slots=True)
class JsonFormat(MessageFormat):
    """Each value is an object, whose fields have the names of columns; others are ignored.

    Attributes:
        needs_fields: whether it has to have a field for each column, be it null.
    """

    needs_fields: bool = False

    def __post_init__(self) -> None:
        for field in self.columns:
            _check(field, _is_in_json(field.type))

    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        text = _text(values)
        if not pc.all(pc.match_substring_regex(text, _OBJECT)).as_py():
            raise pa.ArrowInvalid("it is no JSON object")
        for end in ("\n", "\r"):  # between its parts, as there is none within a JSON text
            text = pc.replace_substring(text, end, " ")
        parsed = self.columns if self.needs_fields else fields
        text = without_quotes(text, parsed)
        lines = _lines(text)
        schema = pa.schema([(field.name, _in_json(field.type)) for field in parsed])
        found = pa.json.read_json(
            pa.BufferReader(lines),
            pa.json.ReadOptions(use_threads=False, block_size=lines.size + 1),
            pa.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        if found.num_rows != len(values):
            raise pa.ArrowInvalid("it is more than one JSON object")
        if self.needs_fields:
            check_fields(text, found, self.columns)
        return _conformed(found, fields)


@dataclass(frozen=True, slots=True)
class CsvFormat(MessageFormat):
    """Each value is a line, whose fields are the columns in their order.

    Attributes:
        delimiter: stands between two fields.
        null: the text that stands for NULL, of a STRING only without quotes; None: there is none.
            An empty field that is no STRING is always NULL.
    """

    delimiter: str
    null: str | None

    @property
    def field_delimiter(self) -> str | None:
        """The delimiter."""
        return self.delimiter

    def __post_init__(self) -> None:
        for field in self.columns:
            _check(field, _is_in_csv(field.type))

    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        text = pc.utf8_rtrim(_text(values), "\r\n")
        _check_quotes(text, self.delimiter)
        if len(self.columns) > 1 and pc.any(pc.equal(text, "")).as_py():
            raise pa.ArrowInvalid("it is empty")
        # A quote that is not closed would take the end of its line for a part of the field; a line
        # of nothing behind them all goes with it, and is missed.
        ended = pa.array([self.delimiter * (len(self.columns) - 1)], pa.large_string())
        lines = _lines(pa.concat_arrays([text, ended]), added=1)
        if lines[: len(BOM_UTF8)].to_pybytes() == BOM_UTF8:
            # Arrow takes one away, and this one is part of a text.
            lines = pa.py_buffer(BOM_UTF8 + lines.to_pybytes())
        # Arrow has the same NULLs in all columns that it reads at once.
        texts = [] if self.null is None else [field for field in fields if field.type == STRING]
        others = [field for field in fields if field not in texts]
        null = [] if self.null is None else [self.null]
        found: dict[str, pa.Array] = {}
        for group, nulls, are_texts in ((others, ["", *null], False), (texts, null, True)):
            if group or not fields:
                table = self._table(lines, group, nulls, are_texts=are_texts)
                if table.num_rows != len(values) + 1:
                    raise pa.ArrowInvalid("it is not one line of CSV")
                arrays = _conformed(table.slice(0, len(values)), group)
                found |= zip((field.name for field in group), arrays, strict=True)
        return tuple(found[field.name] for field in fields)

    def _table(
        self, lines: pa.Buffer, fields: Sequence[Field], nulls: Sequence[str], *, are_texts: bool
    ) -> pa.Table:
        types = {field.name: _in_csv(field.type) for field in fields}
        return pa.csv.read_csv(
            pa.BufferReader(lines),
            pa.csv.ReadOptions(
                use_threads=False,
                block_size=lines.size + 1,
                column_names=[field.name for field in self.columns],
            ),
            pa.csv.ParseOptions(
                delimiter=self.delimiter, newlines_in_values=True, ignore_empty_lines=False
            ),
            pa.csv.ConvertOptions(
                column_types=types,
                include_columns=[*types] or [self.columns[0].name],
                null_values=nulls,
                strings_can_be_null=are_texts,
                quoted_strings_can_be_null=not are_texts,
            ),
        )


@dataclass(frozen=True, slots=True)
class RawFormat(MessageFormat):
    """Each value is that of the only column."""

    def __post_init__(self) -> None:
        for field in self.columns:
            _check(field, field.type in (STRING, BINARY))

    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        return tuple(
            (_text(values) if field.type == STRING else values).cast(to_arrow(field.type))
            for field in fields
        )


def _check(field: Field, is_supported: bool) -> None:
    if not is_supported:
        raise UnsupportedTypeError(type_name=field.type.sql_name(), column=field.name)


def _text(values: pa.LargeBinaryArray) -> pa.LargeStringArray:
    try:
        return values.cast(pa.large_string())
    except pa.ArrowInvalid as error:
        raise pa.ArrowInvalid("it is no UTF-8") from error


def _check_quotes(text: pa.LargeStringArray, delimiter: str) -> None:
    """Check that quoted fields end at their second quote; Arrow reads on, and drops it."""
    quoted = text.filter(pc.match_substring(text, '"'))
    mark = f"\\x{{{ord(delimiter):x}}}"
    field = f'(?:"(?:[^"]|"")*"|[^"{mark}][^{mark}]*)?'
    is_whole = pc.match_substring_regex(quoted, f"^{field}(?:{mark}{field})*$")
    if not pc.all(is_whole, min_count=0).as_py():
        raise pa.ArrowInvalid(
            "it is not one line of CSV: a quoted field ends at its second quote, and a quote "
            "inside of it is doubled"
        )


def _lines(text: pa.LargeStringArray, *, added: int = 0) -> pa.Buffer:
    """Return texts as lines; `added` of them are no values."""
    joined = concat_text(text, pa.scalar("\n", pa.large_string()))
    offsets = np.frombuffer(joined.buffers()[1], np.int64)
    begin, end = int(offsets[joined.offset]), int(offsets[joined.offset + len(joined)])
    if end - begin > _BLOCK_BYTES_MAX and len(text) - added > 1:
        raise pa.ArrowInvalid("it is too long")
    return joined.buffers()[2].slice(begin, end - begin)


def _conformed(found: pa.Table, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
    columns = (found.column(field.name).combine_chunks() for field in fields)
    return tuple(
        recast(column, to_arrow(field.type)) for column, field in zip(columns, fields, strict=True)
    )


def _is_in_json(kind: DataType) -> bool:
    match kind:
        case ArrayType(element):
            return _is_in_json(element)
        case StructType(fields):
            return all(_is_in_json(field.type) for field in fields)
    return kind in _PLAIN or kind in _TIMES or kind == DATE or isinstance(kind, DecimalType)


def _in_json(kind: DataType) -> pa.DataType:
    """Return the type as which values are parsed."""
    match kind:
        case ArrayType(element):
            return pa.list_(pa.field("element", _in_json(element)))
        case StructType(fields):
            return pa.struct([pa.field(field.name, _in_json(field.type)) for field in fields])
    # Arrow takes no text for a date, but casts one to it.
    return pa.string() if kind == DATE else to_arrow(kind)


def _is_in_csv(kind: DataType) -> bool:
    is_known = kind in _PLAIN or kind in _TIMES or kind == DATE
    return is_known or isinstance(kind, (DecimalType, TimeType))


def _in_csv(kind: DataType) -> pa.DataType:
    # Only as a naive one it may be without a zone.
    return pa.timestamp("us") if kind == TIMESTAMP else to_arrow(kind)
