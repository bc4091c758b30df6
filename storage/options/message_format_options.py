"""Options of formats of a topic's records; names, defaults and meanings are Flink's."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.avro_format_options import (
    AVRO_FORMAT_OPTIONS,
    DEBEZIUM_CONFLUENT,
)
from table_store.storage.options.options import (
    BOOLEAN,
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    OptionValues,
    one_of,
)

T = TypeVar("T")

DEBEZIUM: Final = "debezium-json"
ENVELOPES: Final = (DEBEZIUM, DEBEZIUM_CONFLUENT)
"""Formats whose values say themselves what a change is."""

KEY_PART: Final = "key"
VALUE_PART: Final = "value"


def _delimiter(text: str) -> str:
    found = {"\\t": "\t"}.get(text, text)
    if len(found) != 1 or ord(found) > 127 or found in '"\r\n':
        raise ValueError("one character of ASCII, such as ';' or '\\t'")
    return found


JSON_IGNORE_ERRORS = Option(
    key="json.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, `upsert-kafka` and `filesystem` with `json`: records that are no rows are "
    "left out and counted, in the log and by DESCRIBE JOB, instead of failing what reads them.",
)
JSON_MISSING_FIELD = Option(
    key="json.fail-on-missing-field",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, `upsert-kafka` and `filesystem` with `json`: whether a record is no row if a "
    "field of a column is missing, also inside of a STRUCT. Else the field is NULL. `true` costs: "
    "each value that has a NULL is parsed once more, by itself.",
)
JSON_TIMESTAMP_FORMAT = Option(
    key="json.timestamp-format.standard",
    type=one_of("sql", "iso-8601"),
    default="sql",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, `upsert-kafka` and `filesystem` with `json`: how times are written. Both "
    "forms are read, whichever is named.",
)
CSV_IGNORE_ERRORS = Option(
    key="csv.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same as `json.ignore-parse-errors` with `csv`.",
)
CSV_DELIMITER = Option(
    key="csv.field-delimiter",
    type=OptionType("String", _delimiter),
    default=",",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `filesystem` with `csv`: what stands between two fields.",
)
CSV_NULL: Option[str | None] = Option(
    key="csv.null-literal",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="no text; an empty field that is no STRING is NULL",
    doc="Of `kafka` and `filesystem` with `csv`: the text that stands for NULL; for that "
    "of a STRING only without quotes.",
)
DEBEZIUM_SCHEMA_INCLUDE = Option(
    key="debezium-json.schema-include",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` with `debezium-json`: whether the change is the field `payload` of a value "
    "that has a `schema`, too. Such a table is only read.",
)
DEBEZIUM_IGNORE_ERRORS = Option(
    key="debezium-json.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same as `json.ignore-parse-errors` with `debezium-json`.",
)
DEBEZIUM_TIMESTAMP_FORMAT = Option(
    key="debezium-json.timestamp-format.standard",
    type=one_of("sql", "iso-8601"),
    default="sql",
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same as `json.timestamp-format.standard` with `debezium-json`.",
)

FORMAT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    JSON_IGNORE_ERRORS,
    JSON_MISSING_FIELD,
    JSON_TIMESTAMP_FORMAT,
    CSV_IGNORE_ERRORS,
    CSV_DELIMITER,
    CSV_NULL,
    DEBEZIUM_SCHEMA_INCLUDE,
    DEBEZIUM_IGNORE_ERRORS,
    DEBEZIUM_TIMESTAMP_FORMAT,
    *AVRO_FORMAT_OPTIONS,
)


def _of_part(option: Option[T], part: str) -> Option[T | None]:
    return Option(
        key=f"{part}.{option.key}",
        type=option.type,
        default=None,
        scopes=option.scopes,
        mutable=option.mutable,
        doc=f"The same as `{option.key}`, for the {part} of a record alone.",
        derived_default=f"that of `{option.key}`",
    )


def _part_options() -> tuple[Option[Any], ...]:
    in_key = [option for option in FORMAT_OPTIONS if not option.key.startswith("debezium")]
    return (
        *(_of_part(option, KEY_PART) for option in in_key),
        *(_of_part(option, VALUE_PART) for option in FORMAT_OPTIONS),
    )


PART_OPTIONS: Final[tuple[Option[Any], ...]] = _part_options()


def format_value(options: OptionValues, option: Option[T], part: str) -> T:
    """Return the value of one of `FORMAT_OPTIONS` for the key or the value of a record."""
    found = options.get(_of_part(option, part))
    return options.get(option) if found is None else found


def csv_null(options: OptionValues, part: str) -> str | None:
    """Return the text that is NULL in CSV; None: there is none.

    Raises:
        InvalidOptionError: it could not be told from the end of a field.
    """
    text = format_value(options, CSV_NULL, part)
    delimiter = format_value(options, CSV_DELIMITER, part)
    if text is not None and (delimiter in text or '"' in text):
        reason = "use a text without the field delimiter and without quotes"
        raise InvalidOptionError(key=CSV_NULL.key, value=text, reason=reason)
    return text
