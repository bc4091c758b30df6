"""The calendar of dates and times in files that Spark has written.

Before version 3, and later where a setting says so, Spark writes days before 1582-10-15 by the
Julian calendar, and moments before 1900 by the zone rules of Java 7. It notes that in the file.
Source: `DataSourceUtils` of Spark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from table_store.storage.kernel.nested_array import map_entries

_VERSION: Final = b"org.apache.spark.version"
_LEGACY: Final = b"org.apache.spark.legacyDateTime"
_LEGACY_INT96: Final = b"org.apache.spark.legacyINT96"
_FIRST_DAY: Final = -141_427
_FIRST_MICROS: Final = -2_208_988_800_000_000
_WRAPPED_MICROS: Final = 1 << 60
"""Much later than the year 9999."""


@dataclass(frozen=True, slots=True)
class SparkCalendar:
    """What a file says about its dates and times.

    Attributes:
        is_old: old ones are not those of the calendar that is in use since.
        is_old_int96: the same for timestamps of Parquet's type INT96.
    """

    is_old: bool
    is_old_int96: bool

    @classmethod
    def of(cls, metadata: Mapping[bytes, bytes]) -> SparkCalendar:
        """Return what a file's metadata say; files of others have the calendar in use."""
        version = metadata.get(_VERSION)
        if version is None:
            return cls(is_old=False, is_old_int96=False)
        return cls(
            is_old=version < b"3.0.0" or _LEGACY in metadata,
            is_old_int96=version < b"3.1.0" or _LEGACY_INT96 in metadata,
        )

    def check(self, values: pa.Array, name: str, *, is_int96: bool = False) -> None:
        """Check that no date or time is so old that Arrow makes another one of it.

        Args:
            values: of a column, in the type of its column.
            name: of the column.
            is_int96: whether the file has its timestamps as INT96.

        Raises:
            ValueError: one is.
        """
        if is_int96:
            _check_wrapped(values, name)
        if not (self.is_old_int96 if is_int96 else self.is_old):
            return
        for leaf in _leaves(values):
            first = _FIRST_DAY if pa.types.is_date32(leaf.type) else _FIRST_MICROS
            if pa.types.is_timestamp(leaf.type):
                leaf = leaf.cast(pa.timestamp("us", leaf.type.tz)).view(pa.int64())
            elif pa.types.is_date32(leaf.type):
                leaf = leaf.view(pa.int32())
            else:
                continue
            oldest = pc.min(leaf).as_py()
            if oldest is not None and oldest < first:
                raise ValueError(
                    f"column {name!r} has dates before 1582-10-15 or timestamps before 1900 in the "
                    "calendar of Spark 2, which only Spark converts; write the file again with "
                    "Spark, with 'spark.sql.parquet.datetimeRebaseModeInWrite' and the like as "
                    "'CORRECTED'"
                )


def _check_wrapped(values: pa.Array, name: str) -> None:
    """Check that no INT96 had a negative day, which Arrow takes for one of many millions of years.

    Raises:
        ValueError: one had.
    """
    for leaf in _leaves(values):
        if pa.types.is_timestamp(leaf.type):
            latest = pc.max(leaf.view(pa.int64())).as_py()
            if latest is not None and latest > _WRAPPED_MICROS:
                raise ValueError(f"column {name!r} has an INT96 timestamp before the year -4712")


def _leaves(values: pa.Array) -> Iterator[pa.Array]:
    """Yield what is inside of arrays, maps and structs and has no parts."""
    if pa.types.is_struct(values.type):
        for child in values.flatten():
            yield from _leaves(child)
    elif pa.types.is_map(values.type):
        yield from _leaves(map_entries(values).flatten())
    elif pa.types.is_list(values.type):
        yield from _leaves(values.flatten())
    else:
        yield values
