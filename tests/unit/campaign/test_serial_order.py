"""The search for a serial order finds those there are, and only those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.campaign.sessions.database import Content, Database
from tests.campaign.sessions.random_statements import read_all
from tests.campaign.sessions.serial_order import Observed, serial_order
from tests.campaign.sessions.statement import Answer, Statement, Step

START = Database().creating("t", Content.empty(("id", "v"), has_key=True).holding([(1, 10)]))


def plus_one(table: Content) -> Content | None:
    if "v" not in table.columns:
        return None
    return table.holding((i, None if v is None else v + 1) for i, v in table.rows)


ADD = Statement(sql="UPDATE t SET v = v + 1", name="t", changes=(plus_one,))
TWICE = Statement(sql="a stream", name="t", changes=(plus_one, plus_one))
DROP = Statement(sql="DROP TABLE t", name="t", defines=lambda db: db.dropping("t"))
RENAME = Statement(sql="RENAME", name="t", defines=lambda db: db.renaming("t", "u"))
COPY = Statement(
    sql="INSERT INTO t SELECT id + 1, v FROM t",
    name="t",
    copies=lambda t: tuple({"id": (row[0] or 0) + 1, "v": row[1]} for row in t.rows),
)


def seen(steps: Sequence[Step], begun: int, ended: int, *, is_certain: bool = True) -> Observed:
    return Observed(text="", steps=steps, begun_ns=begun, ended_ns=ended, is_certain=is_certain)


def done(one: Statement, begun: int, ended: int, answer: Answer | None = None) -> Observed:
    return seen(one.steps(answer), begun, ended)


def read(name: str, value: int, begun: int, ended: int) -> Observed:
    return done(read_all(name), begun, ended, (("id", "v"), ((1, value),)))


@pytest.mark.parametrize(("value", "is_serial"), [(10, False), (11, False), (12, True)])
def test_a_lost_update_has_no_order(value: int, is_serial: bool) -> None:
    order = serial_order(START, [done(ADD, 0, 5), done(ADD, 1, 6), read("t", value, 7, 8)])
    assert (order is not None) == is_serial


def test_a_read_is_not_older_than_what_had_ended() -> None:
    assert serial_order(START, [done(ADD, 0, 2), read("t", 10, 3, 4)]) is None
    assert serial_order(START, [done(ADD, 0, 3), read("t", 10, 3, 4)]) is not None


def test_reads_agree_on_the_order() -> None:
    """Who read later does not see less."""
    reads = [read("t", 11, 1, 2), read("t", 10, 3, 4)]
    assert serial_order(START, [done(ADD, 0, 9), *reads]) is None
    assert serial_order(START, [done(ADD, 0, 9), *reversed(reads)]) is None
    assert serial_order(START, [done(ADD, 0, 9), read("t", 10, 1, 2), read("t", 11, 3, 4)])


def test_what_failed_unknown_may_have_happened_or_not() -> None:
    unknown = seen(ADD.steps(None), 0, 1, is_certain=False)
    for value, is_serial in ((10, True), (11, True), (12, False)):
        assert (serial_order(START, [unknown, read("t", value, 2, 3)]) is not None) == is_serial
    part = seen(TWICE.steps(None), 0, 1, is_certain=False)
    assert serial_order(START, [part, read("t", 11, 2, 3)]) is not None


def test_a_copy_reads_before_it_writes() -> None:
    """Between, another may come; what it copied is what was there when it read."""
    copied: Answer = (("id", "v"), ((1, 11), (2, 10)))
    statements = [done(COPY, 0, 5), done(ADD, 1, 4), done(read_all("t"), 6, 7, copied)]
    assert serial_order(START, statements) is not None
    wrong: Answer = (("id", "v"), ((1, 11), (2, 12)))
    assert serial_order(START, [*statements[:2], done(read_all("t"), 6, 7, wrong)]) is None


def test_names() -> None:
    absent = seen(read_all("t").steps_without_table(), 5, 6)
    assert serial_order(START, [absent]) is None
    assert serial_order(START, [done(DROP, 0, 1), absent]) is not None
    assert serial_order(START, [done(RENAME, 0, 1), absent, read("u", 10, 5, 6)]) is not None
    # A statement that had found the table before it was renamed writes into it afterwards.
    late = [done(RENAME, 1, 2), done(ADD, 0, 9), read("u", 10, 3, 4), read("u", 11, 10, 11)]
    assert serial_order(START, late) is not None
    assert serial_order(START, [*late[:1], done(ADD, 3, 9)]) is None


def test_a_statement_that_did_not_fit() -> None:
    assert serial_order(START, [seen(ADD.steps_not_fitting(), 0, 1)]) is None
    other = Database().creating("t", Content.empty(("id", "w"), has_key=True))
    assert serial_order(other, [seen(ADD.steps_not_fitting(), 0, 1)]) is not None


def test_a_statement_names_the_columns_of_its_beginning() -> None:
    """It may write behind a RENAME COLUMN that came while it ran, but not begin behind it."""
    rename = Statement(
        sql="ALTER TABLE t RENAME COLUMN v TO w",
        name="t",
        changes=(lambda t: None if "w" in t.columns else replace(t, columns=("id", "w")),),
        is_of_columns=True,
    )
    answers = [(("id", "w"), ((1, value),)) for value in (10, 11)]
    reads = [done(read_all("t"), at, at + 1, answers[i]) for i, at in enumerate((3, 10))]
    assert serial_order(START, [done(rename, 1, 2), done(ADD, 0, 9), *reads]) is not None
    assert serial_order(START, [done(rename, 1, 2), done(ADD, 3, 9), *reads]) is None
