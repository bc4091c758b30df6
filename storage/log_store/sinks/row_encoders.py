"""The encoder that a table's options name for rows as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from table_store.storage.log_store.encoding.json_encoding import FLINK
from table_store.storage.log_store.encoding.row_encoding import (
    CsvEncoder,
    JsonEncoder,
    RawEncoder,
    RowEncoder,
)
from table_store.storage.options.message_format_options import (
    CSV_DELIMITER,
    CSV_NULL,
    DEBEZIUM,
    DEBEZIUM_TIMESTAMP_FORMAT,
    JSON_TIMESTAMP_FORMAT,
    VALUE_PART,
    format_value,
)
from table_store.storage.options.options import OptionValues


def row_encoder(
    options: OptionValues, name: str, columns: Sequence[str], part: str = VALUE_PART
) -> RowEncoder:
    """Return the encoder of a format for columns of these names.

    Args:
        options: of the table.
        name: `json`, `debezium-json`, `csv` or `raw`.
        columns: the names.
        part: of a record, which may have options of its own.
    """
    if name in ("json", DEBEZIUM):
        standard = JSON_TIMESTAMP_FORMAT if name == "json" else DEBEZIUM_TIMESTAMP_FORMAT
        is_iso = format_value(options, standard, part) == "iso-8601"
        style = replace(FLINK, separator="T") if is_iso else FLINK
        return JsonEncoder(tuple(columns), style)
    if name == "csv":
        null = format_value(options, CSV_NULL, part) or ""
        return CsvEncoder(format_value(options, CSV_DELIMITER, part), null)
    return RawEncoder()
