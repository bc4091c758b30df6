"""Goal: sets of transactions are read as both databases write them, and compared as sets.

Oracle: sets of pairs.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.connectors.mysql.gtid_set import GtidSet
from table_store.catalog.connectors.mysql.mysql_binlog import (
    NOWHERE,
    Binlog,
    BinlogPlace,
    BinlogPosition,
)

ONE = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
OTHER = "19d69c1e-ae97-4b8c-a1ef-9e12ba966457"
Pairs = frozenset[tuple[str, int]]
PAIRS = st.frozensets(st.tuples(st.sampled_from((ONE, OTHER)), st.integers(1, 12)))


def set_of(pairs: Pairs) -> GtidSet:
    return GtidSet.of_text("").with_transactions(pairs)


@given(PAIRS, PAIRS)
def test_they_are_sets(some: Pairs, others: Pairs) -> None:
    left = set_of(some) - set_of(others)
    assert {
        (of, at) for of in (ONE, OTHER) for at in range(15) if (of, at) in left
    } == some - others
    assert (left.count, bool(left)) == (len(some - others), bool(some - others))
    assert GtidSet.of_text(str(set_of(some))) == set_of(some)
    assert set_of(some).with_transactions(others) == set_of(some | others)


def test_they_are_read_as_the_databases_write_them() -> None:
    mysql = GtidSet.of_text(f"{ONE.upper()}:7:1-3:4-5,\n{OTHER}:2")
    assert mysql.ranges == {ONE: ((1, 5), (7, 7)), OTHER: ((2, 2),)}
    mariadb = GtidSet.of_text("0-7-42,3-1-9")
    assert mariadb.ranges == {"0": ((1, 42),), "3": ((1, 9),)}
    assert (mariadb - GtidSet.of_text("0-8-40,3-2-10")).ranges == {"0": ((41, 42),)}
    assert mariadb.lasts == {"0": 42, "3": 9}
    for text in (f"{ONE}:tag:1-3", "7", f"{ONE}:", "0-1"):
        with pytest.raises(ValueError, match="names no transactions"):
            GtidSet.of_text(text)


def binlog(log_id: str, end: BinlogPosition, gtids: str, *, is_mariadb: bool) -> Binlog:
    return Binlog(
        id=log_id,
        is_mariadb=is_mariadb,
        base="b",
        digits=6,
        sizes={end.file: end.at},
        end=end,
        gtids=GtidSet.of_text(gtids),
        purged=GtidSet.of_text(f"{ONE}:1-3" if not is_mariadb else ""),
    )


def place(log_id: str, position: BinlogPosition, gtids: str | None) -> BinlogPlace:
    known = None if gtids is None else GtidSet.of_text(gtids)
    found = BinlogPlace(log_id=log_id, position=position, low=NOWHERE, gtids=known)
    assert BinlogPlace.of(found.offsets, found.mark) == found
    return found


def test_a_server_that_lacks_what_was_read_is_no_replica() -> None:
    four, nine = BinlogPosition(1, 400), BinlogPosition(1, 900)
    mariadb = binlog("8:b", four, "0-7-42", is_mariadb=True)
    assert mariadb.lacks(place("7:a", nine, "0-7-42")) is None
    assert mariadb.is_at(place("7:a", nine, "0-7-42"))
    assert "transactions 0:43" in str(mariadb.lacks(place("7:a", nine, "0-7-43")))
    assert "was now 8" not in str(mariadb.lacks(place("7:a", nine, None)))
    assert "they were 7 and 'a'" in str(mariadb.lacks(place("7:a", nine, None)))
    # On its own server the position counts: a binlog that was begun anew has other transactions.
    assert "had reached b.000001:900" in str(mariadb.lacks(place("8:b", nine, "0-7-42")))
    assert mariadb.lacks(place("8:b", four, "0-7-42")) is None
    assert "transactions 0:43" in str(mariadb.lacks(place("8:b", four, "0-7-43")))
    mysql = binlog("u:b", four, f"{ONE}:1-9", is_mariadb=False)
    assert mysql.lacks(place("v:b", nine, f"{ONE}:2-9")) is None
    assert f"{OTHER}:1" in str(mysql.lacks(place("u:b", four, f"{ONE}:1-9,{OTHER}:1")))
    assert mysql.has_after(place("v:b", nine, f"{ONE}:1-3"))
    assert not mysql.has_after(place("v:b", nine, f"{ONE}:2-9"))
