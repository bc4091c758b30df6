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
from table_store.storage.options.kafka_source_options import (
    CSV_DELIMITER,
    CSV_NULL,
    JSON_TIMESTAMP_FORMAT,
)
from table_store.storage.options.options import OptionValues


def row_encoder(options: OptionValues, name: str, columns: Sequence[str]) -> RowEncoder:
    """Return the encoder of the format `json`, `csv` or `raw` for columns of these names."""
    if name == "json":
        is_iso = options.get(JSON_TIMESTAMP_FORMAT) == "iso-8601"
        style = replace(FLINK, separator="T") if is_iso else FLINK
        return JsonEncoder(tuple(columns), style)
    if name == "csv":
        return CsvEncoder(options.get(CSV_DELIMITER), options.get(CSV_NULL) or "")
    return RawEncoder()
