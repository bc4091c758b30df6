"""Rows as values of messages in Avro's binary encoding."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.formats.avro_messages import AvroWriter, derived_schema
from table_store.storage.formats.avro_schema import parse_avro_schema


@dataclass(frozen=True, slots=True)
class AvroEncoder:
    """A record with the columns.

    Attributes:
        schema: of the record, as JSON.
        writer: writes with it.
    """

    schema: str
    writer: AvroWriter

    @classmethod
    def of(cls, fields: Sequence[pa.Field], time_unit: str, schema: str | None) -> AvroEncoder:
        """Return the encoder of columns, with a schema or with the one that follows from them.

        Raises:
            ValueError: there is no such schema, or it does not have the columns.
        """
        text = json.dumps(derived_schema(fields, time_unit)) if schema is None else schema
        return cls(text, AvroWriter.of(parse_avro_schema(text), fields))

    def encoded(self, columns: Sequence[pa.Array]) -> pa.LargeBinaryArray:
        """See `RowEncoder`."""
        return self.writer.encoded(columns)


def with_head(head: bytes, values: pa.LargeBinaryArray) -> pa.LargeBinaryArray:
    """Return values with some bytes in front of each."""
    binary = pa.large_binary()
    return pc.binary_join_element_wise(pa.scalar(head, binary), values, pa.scalar(b"", binary))
