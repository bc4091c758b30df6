"""Values of whole Arrow columns as text without quotes, as lines and fields hold them."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.log_store.encoding.base64_text import base64_text
from table_store.storage.log_store.encoding.json_encoding import TEXT, json_values, without_zeros


def plain_text(values: pa.Array) -> pa.LargeStringArray:
    """Return each value as text; NULL stays NULL.

    Times have as many digits of a second as they need, those with a zone are in UTC. Bytes are
    base64. Structs, arrays and maps are JSON.
    """
    kind = values.type
    if pa.types.is_nested(kind):
        return pc.if_else(values.is_null(), pa.scalar(None, TEXT), json_values(values))
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return base64_text(values)
    if pa.types.is_timestamp(kind):
        return time_text(values)
    return values.cast(TEXT)


def time_text(values: pa.TimestampArray) -> pa.LargeStringArray:
    """Return times as `2026-01-31 12:00:00.5`, in UTC, without zeros at the end of a second."""
    return without_zeros(values.cast(pa.timestamp(values.type.unit)).cast(TEXT))
