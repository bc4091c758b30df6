"""`'format' = 'avro'` and `'avro-confluent'`: each value is a record in Avro's binary encoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from table_store.catalog.connectors.formats.message_formats import MessageFormat
from table_store.storage.file_store.model.schema import Field
from table_store.storage.formats.avro_resolution import AvroReader
from table_store.storage.formats.avro_schema import AvroRecord, AvroType
from table_store.storage.kernel.types import arrow_field
from table_store.storage.log_store.schema_registry import HEAD_BYTES, MAGIC_BYTE, SchemaRegistry


@dataclass(frozen=True, slots=True)
class AvroFormat(MessageFormat):
    """Each value is a record with one schema.

    Attributes:
        schema: with which they are written.
        time_unit: of a TIMESTAMP that is written as a mere number.
    """

    schema: AvroType
    time_unit: str

    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        return decoded(values, self.schema, fields, self.time_unit, 0)


@dataclass(frozen=True, slots=True)
class RegisteredAvroFormat(MessageFormat):
    """Each value begins with the id of its schema, which a registry has.

    Attributes:
        registry: the registry.
        time_unit: of a TIMESTAMP that is written as a mere number.
    """

    registry: SchemaRegistry
    time_unit: str

    def _arrays(self, values: pa.LargeBinaryArray, fields: Sequence[Field]) -> tuple[pa.Array, ...]:
        """See `MessageFormat`.

        Raises:
            SchemaRegistryUnavailableError, SchemaRegistryRefusedError: the registry tells no
                schema.
        """
        numbers = _schema_ids(values)
        chosen, places = np.unique(numbers, return_inverse=True)
        if len(chosen) == 1:
            return self._of_schema(values, int(chosen[0]), fields)
        parts, order = [], []
        for place, number in enumerate(chosen.tolist()):
            here = np.flatnonzero(places == place)
            order.append(here)
            parts.append(self._of_schema(values.take(pa.array(here)), number, fields))
        back = pa.array(np.argsort(np.concatenate(order), kind="stable"))
        return tuple(pa.concat_arrays(arrays).take(back) for arrays in zip(*parts, strict=True))

    def _of_schema(
        self, values: pa.LargeBinaryArray, number: int, fields: Sequence[Field]
    ) -> tuple[pa.Array, ...]:
        try:
            schema = self.registry.schema(number)
        except ValueError as error:
            raise pa.ArrowInvalid(str(error)) from error
        if schema is None:
            raise pa.ArrowInvalid(f"the schema registry has no schema with id {number}")
        return decoded(values, schema, fields, self.time_unit, HEAD_BYTES)


def decoded(
    values: pa.LargeBinaryArray,
    schema: AvroType,
    fields: Sequence[Field],
    time_unit: str,
    skipped: int,
) -> tuple[pa.Array, ...]:
    """Return some columns of records that were written with a schema, behind so many bytes.

    Raises:
        pyarrow.ArrowInvalid: some are no such records, or no rows.
    """
    if not isinstance(schema, AvroRecord):
        raise pa.ArrowInvalid(f"its schema is {schema.shown()}, and no record")
    columns = [arrow_field(field.name, field.type, nullable=field.nullable) for field in fields]
    try:
        return tuple(AvroReader(schema, columns, time_unit).decoded_values(values, skipped))
    except pa.ArrowInvalid:
        raise
    except ValueError as error:
        raise pa.ArrowInvalid(str(error)) from error


def _schema_ids(values: pa.LargeBinaryArray) -> np.ndarray:
    """Return the id of each value's schema."""
    if pc.any(pc.less(pc.binary_length(values), HEAD_BYTES)).as_py():
        raise pa.ArrowInvalid("it is shorter than the id of a schema")
    offsets = np.frombuffer(values.buffers()[1], np.int64)
    starts = offsets[values.offset : values.offset + len(values)]
    content = np.frombuffer(values.buffers()[2], np.uint8)
    heads = content[starts[:, None] + np.arange(HEAD_BYTES)]
    if (heads[:, 0] != MAGIC_BYTE).any():
        raise pa.ArrowInvalid("it does not begin with the byte 0 and the id of a schema")
    found: np.ndarray = np.ascontiguousarray(heads[:, 1:]).view(">u4")[:, 0]
    return found
