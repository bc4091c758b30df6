"""Instants and clock times of a time zone, for whole Arrow arrays and every year.

The rules are those of `zoneinfo`. Arrow's own kernels have no rules after 2037.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa

from table_store.storage.kernel.arrays import IntArray
from table_store.storage.kernel.errors import InvalidTimeZoneError
from table_store.storage.kernel.values import EPOCH_UTC

_OFFSET: Final = re.compile(r"([+-])(\d\d):(\d\d)")
_MICROS: Final = 1_000_000
_CYCLE_S: Final = 146_097 * 86_400
"""After 400 years the calendar repeats, and with it the rules of time zones."""

_FIRST_S: Final = -11_676_096_000
"""Begin of the year 1600: no zone has changed its offset before."""

_REPEATED_S: Final = 13_569_465_600
"""Begin of the year 2400: by then every zone follows its last rule."""

_PERIOD_BITS: Final = 28
"""Offsets are found for periods of 2**28 seconds, about eight years, as they are needed."""

_STEP_S: Final = 2 * 86_400
"""Offsets that follow each other hold for four days at least."""

_NEAR_S: Final = 2 * 86_400
"""More than the clocks of two zones differ."""


def find_zone(name: str) -> dt.tzinfo:
    """Return the zone of a name such as `Europe/Berlin`, or of an offset such as `+02:00`.

    Raises:
        InvalidTimeZoneError: there is no such zone.
    """
    found = _OFFSET.fullmatch(name)
    try:
        if found is None:
            return ZoneInfo(name)
        offset = dt.timedelta(hours=int(found[2]), minutes=int(found[3]))
        return dt.timezone(-offset if found[1] == "-" else offset)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InvalidTimeZoneError(zone=name) from error


def clock_times(instants: pa.Array, zone: str) -> pa.Array:
    """Return what the zone's clocks show at instants, as timestamps without a zone.

    Raises:
        InvalidTimeZoneError: there is no such zone.
        pyarrow.ArrowInvalid: a time is beyond the range of a timestamp.
    """
    micros, is_null = _micros_of(instants)
    return _shifted(micros, _offsets_at(micros // _MICROS, zone), is_null, pa.timestamp("us"))


def instants_of(clock: pa.Array, zone: str) -> pa.Array:
    """Return the instants at which the zone's clocks show times, as timestamps in UTC.

    Of a time that is shown twice it is the first. A time that is skipped is moved forward by the
    length of the gap. Both are the rules of Spark, `ZonedDateTime.ofLocal` of Java.

    Raises:
        InvalidTimeZoneError: there is no such zone.
        pyarrow.ArrowInvalid: an instant is beyond the range of a timestamp.
    """
    micros, is_null = _micros_of(clock)
    offsets = -_offsets_of(micros // _MICROS, zone)
    return _shifted(micros, offsets, is_null, pa.timestamp("us", "UTC"))


@dataclass(frozen=True, slots=True)
class _Changes:
    """Offsets in seconds east of UTC, and the instants in seconds from which they hold."""

    starts: IntArray
    offsets: IntArray


def _micros_of(values: pa.Array) -> tuple[IntArray, IntArray | None]:
    micros = values.cast(pa.timestamp("us", values.type.tz)).cast(pa.int64())
    is_null = micros.is_null().to_numpy(zero_copy_only=False) if micros.null_count else None
    found: IntArray = micros.fill_null(0).to_numpy(zero_copy_only=False)
    return found, is_null


def _shifted(
    micros: IntArray, offsets: IntArray, is_null: IntArray | None, kind: pa.DataType
) -> pa.Array:
    shifts = offsets * _MICROS
    result = micros + shifts
    if ((result < micros) != (shifts < 0)).any():
        raise pa.ArrowInvalid("a timestamp in another time zone is beyond the range")
    return pa.array(result, pa.int64(), mask=is_null).cast(kind)


def _offsets_at(seconds: IntArray, zone: str) -> IntArray:
    seconds = _near(seconds)
    changes = _changes_of(np.unique(seconds >> _PERIOD_BITS), zone)
    places = np.searchsorted(changes.starts, seconds, side="right") - 1
    return changes.offsets[places]


def _offsets_of(clock: IntArray, zone: str) -> IntArray:
    clock = _near(clock)
    around = np.concatenate([clock - _NEAR_S, clock + _NEAR_S]) >> _PERIOD_BITS
    changes = _changes_of(np.unique(around), zone)
    before = np.concatenate([changes.offsets[:1], changes.offsets[:-1]])
    # A repeated time keeps the offset from before the change, and so does a skipped one.
    starts = changes.starts + np.maximum(before, changes.offsets)
    places = np.searchsorted(starts, clock, side="right") - 1
    return changes.offsets[places]


def _near(seconds: IntArray) -> IntArray:
    """Return times with the same offsets between the years 1600 and 2800."""
    repeated = _REPEATED_S + (seconds - _REPEATED_S) % _CYCLE_S
    return np.where(seconds >= _REPEATED_S, repeated, np.maximum(seconds, _FIRST_S))


def _changes_of(periods: IntArray, zone: str) -> _Changes:
    found = [_changes_in(int(period), zone) for period in periods]
    if not found:
        found = [_changes_in(0, zone)]
    starts = [change.starts for change in found]
    return _Changes(np.concatenate(starts), np.concatenate([change.offsets for change in found]))


@lru_cache(maxsize=4096)
def _changes_in(period: int, zone: str) -> _Changes:
    """Return the offset at the begin of a period, and its changes in it."""
    rules = find_zone(zone)
    first, last = period << _PERIOD_BITS, (period + 1) << _PERIOD_BITS
    starts, offsets = [first], [_offset(rules, first)]
    for left, right in pairwise([*range(first, last, _STEP_S), last - 1]):
        after = _offset(rules, right)
        if after == offsets[-1]:
            continue
        while right - left > 1:
            middle = (left + right) // 2
            if _offset(rules, middle) == after:
                right = middle
            else:
                left = middle
        starts.append(right)
        offsets.append(after)
    return _Changes(np.array(starts, np.int64), np.array(offsets, np.int64))


def _offset(rules: dt.tzinfo, second: int) -> int:
    moment = (EPOCH_UTC + dt.timedelta(seconds=second)).astimezone(rules)
    offset = moment.utcoffset()
    return 0 if offset is None else offset // dt.timedelta(seconds=1)
