"""The format that a table's options name, for the columns of a message."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from table_store.catalog.connectors.formats.avro_formats import AvroFormat, RegisteredAvroFormat
from table_store.catalog.connectors.formats.message_formats import (
    CsvFormat,
    JsonFormat,
    MessageFormat,
    RawFormat,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.formats.avro_schema import parse_avro_schema
from table_store.storage.kernel.errors import InvalidOptionError, InvalidSchemaError
from table_store.storage.log_store.encoding.avro_rows import AvroEncoder
from table_store.storage.log_store.sinks.row_encoders import (
    row_encoder,
    schema_registry,
    time_unit,
)
from table_store.storage.options.avro_format_options import AVRO, REGISTRY_OPTIONS
from table_store.storage.options.message_format_options import (
    CSV_DELIMITER,
    DEBEZIUM,
    JSON_MISSING_FIELD,
    KEY_PART,
    VALUE_PART,
    csv_null,
    format_value,
)
from table_store.storage.options.options import OptionValues

_WITH_OPTIONS: Final = ("json", "csv", DEBEZIUM, AVRO, *REGISTRY_OPTIONS)


def check_formats(options: OptionValues, value: str, key: str | None = None) -> None:
    """Check that the options of formats are those of the formats of a record's parts.

    Raises:
        InvalidOptionError: one is of another format.
    """
    of_parts: Mapping[str, tuple[str | None, ...]] = {KEY_PART: (key,), VALUE_PART: (value,)}
    for option in options.text:
        part, _, rest = option.partition(".")
        names = of_parts.get(part, (value, key))
        other = (rest if part in of_parts else option).partition(".")[0]
        if other in _WITH_OPTIONS and other not in names:
            own = " has none there" if names[0] is None else f"'s is {names[0]!r}"
            reason = f"it is of the format {other!r}, and the table{own}"
            raise InvalidOptionError(key=option, value=options.text[option], reason=reason)


def message_format(
    options: OptionValues, name: str, columns: tuple[Field, ...], part: str = VALUE_PART
) -> MessageFormat:
    """Return the format of a name for columns of the key or the value of a record.

    Raises:
        InvalidSchemaError: the format has no such columns.
        UnsupportedTypeError: it has no values of a column's type.
        InvalidOptionError: an option is missing, or does not go with others.
    """
    if name in ("json", DEBEZIUM):
        needs_fields = name == "json" and format_value(options, JSON_MISSING_FIELD, part)
        return JsonFormat(columns, needs_fields)
    if name == "csv":
        check_count(columns, name, is_right=bool(columns), wanted="a column")
        delimiter = format_value(options, CSV_DELIMITER, part)
        return CsvFormat(columns, delimiter, csv_null(options, part))
    if name == AVRO:
        encoder = row_encoder(options, name, columns, part)
        assert isinstance(encoder, AvroEncoder), "the format has this one"
        schema = parse_avro_schema(encoder.schema)
        return AvroFormat(columns, schema, time_unit(options, name, part))
    if name in REGISTRY_OPTIONS:
        row_encoder(options, name, columns, part)  # it names a column that there cannot be
        registry = schema_registry(options, name, part)
        return RegisteredAvroFormat(columns, registry, time_unit(options, name, part))
    check_count(columns, name, is_right=len(columns) == 1, wanted="exactly one column")
    return RawFormat(columns)


def check_count(columns: tuple[Field, ...], name: str, *, is_right: bool, wanted: str) -> None:
    """Check that a format has so many columns.

    Raises:
        InvalidSchemaError: it has not.
    """
    if not is_right:
        raise InvalidSchemaError(
            reason=f"the format {name!r} has {wanted} for the value of a record, not "
            f"{len(columns)}; others are METADATA or computed"
        )
