"""Values of Spark's internal rows, which the bridge sends as texts.

In these texts dates are days and timestamps microseconds since 1970, times are nanoseconds since
midnight, and binary values are hexadecimal. Dates and timestamps outside Python's range of years
stay numbers, as in manifests.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial
from typing import Final, TypeAlias

from table_store.storage.kernel.types import DataType, DecimalType, PrimitiveType, TimeType
from table_store.storage.kernel.values import EPOCH, EPOCH_UTC, Value, binary32

ValueReader: TypeAlias = Callable[[str], Value]


def _since(epoch: dt.date, unit: str, text: str) -> Value:
    count = int(text)
    try:
        return epoch + dt.timedelta(**{unit: count})
    except OverflowError:
        return count


READERS: Final[Mapping[str, ValueReader]] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), int),
    "float": binary32,
    "double": float,
    "boolean": lambda text: text == "true",
    "string": str,
    "binary": bytes.fromhex,
    "date": partial(_since, EPOCH.date(), "days"),
    "timestamp": partial(_since, EPOCH_UTC, "microseconds"),
    "timestamp_ntz": partial(_since, EPOCH, "microseconds"),
}
"""What makes the value of a text, by the name of a primitive type."""


def internal_value(text: str | None, data_type: DataType) -> Value:
    """Return the value that Spark's internal rows hold as `text`; None is null."""
    if text is None:
        return None
    if isinstance(data_type, DecimalType):
        return Decimal(text)
    if isinstance(data_type, TimeType):
        return (EPOCH + dt.timedelta(microseconds=int(text) // 1000)).time()
    assert isinstance(data_type, PrimitiveType), "partition columns have orderable types"
    return READERS[data_type.name](text)
