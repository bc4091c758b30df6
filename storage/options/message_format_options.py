"""Options of formats of a topic's records; names, defaults and meanings are Flink's."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import (
    BOOLEAN,
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    one_of,
)


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
    doc="Of `kafka` with `json`: records that are no rows are left out and counted in the log, "
    "instead of failing what reads them.",
)
JSON_MISSING_FIELD = Option(
    key="json.fail-on-missing-field",
    type=one_of("false"),
    default="false",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` with `json`: a field that is missing is NULL; where that is not allowed, "
    "declare the column NOT NULL.",
)
JSON_TIMESTAMP_FORMAT = Option(
    key="json.timestamp-format.standard",
    type=one_of("sql", "iso-8601"),
    default="sql",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` with `json`: both forms of a time are read, whichever is named.",
)
CSV_IGNORE_ERRORS = Option(
    key="csv.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same with `csv`.",
)
CSV_DELIMITER = Option(
    key="csv.field-delimiter",
    type=OptionType("String", _delimiter),
    default=",",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` with `csv`: what stands between two fields.",
)
CSV_NULL: Option[str | None] = Option(
    key="csv.null-literal",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="no text; an empty field that is no STRING is NULL",
    doc="Of `kafka` with `csv`: the text that stands for NULL.",
)
FORMAT_OPTIONS: Final = (
    JSON_IGNORE_ERRORS,
    JSON_MISSING_FIELD,
    JSON_TIMESTAMP_FORMAT,
    CSV_IGNORE_ERRORS,
    CSV_DELIMITER,
    CSV_NULL,
)
