"""The rows of a Parquet file, by whatever program it was written, as columns of a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from table_store.catalog.connectors.filesystem.taken_file import FilePart
from table_store.catalog.connectors.formats.checked_column import check_required
from table_store.storage.file_store.model.errors import (
    DuplicateMapKeyError,
    NaiveTimestampError,
    NullKeyError,
)
from table_store.storage.file_store.model.schema import Field
from table_store.storage.file_store.write.conformed_column import conformed, places_of
from table_store.storage.formats.parquet_leaves import leaf_ranges
from table_store.storage.formats.spark_calendar import SparkCalendar
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.row_batch import BATCH_ROWS
from table_store.storage.kernel.types import STRING, TIMESTAMP, to_arrow


def parquet_rows(
    source: pa.NativeFile, fields: Sequence[Field], part: FilePart
) -> Iterator[tuple[list[pa.Array], int]]:
    """Yield the rows of a part's share of a file in some columns, and how many they are.

    Columns and fields of structs are found by name, in any case. One that the file does not have
    is NULL; those that the table does not have are left out.

    Raises:
        ValueError: a column cannot hold a value, or two columns could be meant by one name.
        pyarrow.ArrowException, OSError: the file is damaged.
    """
    file = pq.ParquetFile(source, coerce_int96_timestamp_unit="us")
    schema, groups = file.schema_arrow, file.num_row_groups
    try:
        places = places_of(schema, [field.name for field in fields])
    except InvalidSchemaError as error:
        raise ValueError(_reason(error)) from error
    calendar = SparkCalendar.of(file.metadata.metadata or {})
    int96 = _with_int96(file)
    share = [group for group in range(groups) if group * part.shares // groups == part.share]
    wanted = [schema.field(place).name for place in places if place is not None]
    missing = sum(file.metadata.row_group(group).num_rows for group in share)
    for batch in file.iter_batches(BATCH_ROWS, row_groups=share, columns=wanted):
        missing -= batch.num_rows
        arrays = []
        for field, place in zip(fields, places, strict=True):
            if place is None:
                values = pa.nulls(batch.num_rows, to_arrow(field.type))
            else:
                found = batch.column(schema.field(place).name)
                values = _values(found, field, is_instant=place in int96)
                calendar.check(values, field.name, is_int96=place in int96)
            check_required(values, field)
            arrays.append(values)
        yield arrays, batch.num_rows
    if missing:
        # Arrow ends without an error where it finds no more values of a nested column.
        raise ValueError(f"its footer says that it has {abs(missing)} rows more or less")


def _values(found: pa.Array, field: Field, *, is_instant: bool) -> pa.Array:
    if pa.types.is_binary(found.type) and field.type == STRING:
        found = found.cast(pa.string())  # some programs do not note that bytes are a text
    try:
        return conformed(found, field, "UTC" if is_instant else None, is_projection=True)
    except NaiveTimestampError as error:
        other = "TIMESTAMP_NTZ" if error.needed == TIMESTAMP.sql_name() else "TIMESTAMP"
        reason = f"{error.where} is {error.needed}, and a value is a timestamp {error.found}; "
        raise ValueError(f"{reason}declare it as {other}, and CAST it in the query") from error
    except (InvalidSchemaError, NullKeyError, DuplicateMapKeyError) as error:
        raise ValueError(_reason(error)) from error


def _reason(error: InvalidSchemaError | NullKeyError | DuplicateMapKeyError) -> str:
    match error:
        case InvalidSchemaError():
            return f"column {error.column}: {error.reason}"
        case NullKeyError():
            return f"{error.column} is NULL"
    return f"column {error.column} has a map with the key {error.key!r} twice"


def _with_int96(file: pq.ParquetFile) -> set[int]:
    """Return which columns have timestamps as INT96, which are instants without a zone."""
    types = [file.schema.column(place).physical_type for place in range(len(file.schema))]
    ranges = leaf_ranges(file.schema_arrow)
    return {
        place for place, leaves in enumerate(ranges) if any(types[i] == "INT96" for i in leaves)
    }
