"""Goal: clocks and instants are those of `zoneinfo`, in every zone and every year."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo, available_timezones

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store import connect
from table_store.storage.kernel.errors import InvalidTimeZoneError
from table_store.storage.kernel.time_zone import clock_times, find_zone, instants_of

ZONES = sorted(available_timezones() - {"localtime", "Factory"})
CYCLE = dt.timedelta(days=146_097)
NEW_YORK_CHANGES = [
    *("1883-11-18 17:00:00", "2024-03-10 07:00:00", "2024-11-03 06:00:00"),
    *("2040-03-11 07:00:00", "2040-11-04 06:00:00", "2399-11-07 06:00:00"),
]
MOMENTS = st.datetimes(*map(dt.datetime.fromisoformat, ("0001-01-03", "9999-12-29")))
NEAR_CHANGES = st.builds(
    lambda text, seconds: dt.datetime.fromisoformat(text) + dt.timedelta(seconds=seconds),
    st.sampled_from(NEW_YORK_CHANGES),
    st.integers(-8000, 8000),
)


@given(st.sampled_from(ZONES), st.lists(MOMENTS | st.none(), max_size=5))
def test_zones(zone: str, moments: list[dt.datetime | None]) -> None:
    check(zone, moments)


@given(st.lists(NEAR_CHANGES, max_size=5))
def test_around_changes(moments: list[dt.datetime | None]) -> None:
    check("America/New_York", moments)


def check(zone: str, moments: list[dt.datetime | None]) -> None:
    rules = ZoneInfo(zone)
    clocks = [
        m and m.replace(tzinfo=dt.UTC).astimezone(rules).replace(tzinfo=None) for m in moments
    ]
    instants = [m and m.replace(tzinfo=rules).astimezone(dt.UTC) for m in moments]
    plain = pa.array(moments, pa.timestamp("us"))
    assert clock_times(plain.cast(pa.timestamp("us", "UTC")), zone).to_pylist() == [
        clock and clock.replace(fold=0) for clock in clocks
    ]
    assert instants_of(plain, zone).to_pylist() == instants


@pytest.mark.parametrize("year", [-5000, 12_000, 200_000])
def test_years_beyond_python(year: int) -> None:
    cycles = (year - 2400) // 400
    near = dt.datetime.fromisoformat(f"{year - 400 * cycles}-07-01 12:00")
    found = instants_of(shifted(pa.array([near]), cycles), "Europe/Berlin")
    hour = 10 if year > 0 else 12 - dt.timedelta(minutes=53, seconds=28) / dt.timedelta(hours=1)
    expected = near.replace(hour=0) + dt.timedelta(hours=hour)
    assert found.cast(pa.int64()) == shifted(pa.array([expected]), cycles).cast(pa.int64())


def shifted(moments: pa.Array, cycles: int) -> pa.Array:
    micros = moments.cast(pa.int64()).to_numpy() + cycles * (CYCLE // dt.timedelta(microseconds=1))
    return pa.array(micros).cast(pa.timestamp("us"))


def test_the_ends_of_the_range() -> None:
    for end in (2**63 - 1, -(2**63)):
        with pytest.raises(pa.ArrowInvalid, match="beyond the range"):
            clock_times(pa.array([end], pa.timestamp("us")), "+02:00" if end > 0 else "-02:00")


def test_names() -> None:
    assert find_zone("-02:30").utcoffset(None) == dt.timedelta(hours=-2, minutes=-30)
    assert clock_times(pa.array([0], pa.timestamp("us")), "+02:00")[0].as_py().hour == 2
    for name in ("Nowhere/City", "", "../etc", "+25:00", "Europe"):
        with pytest.raises(InvalidTimeZoneError, match="Europe/Berlin"):
            find_zone(name)
    with pytest.raises(InvalidTimeZoneError):
        connect("/tmp/nothing", time_zone="Nowhere/City")
