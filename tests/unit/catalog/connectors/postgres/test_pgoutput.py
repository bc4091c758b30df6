"""Goal: the changes of a table are found in any messages, whatever pieces they come in.

Oracle: the list of changes from which the messages are made, one by one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.connectors.postgres.pgoutput import Decoder, Truncated

OURS, OTHER = 16_400, 16_401
HEAD, END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
TEXTS = st.one_of(st.none(), st.binary(max_size=12), st.binary(min_size=300, max_size=400))
ROWS = st.tuples(TEXTS, TEXTS, TEXTS)

Row = tuple[bytes | None, ...]


def relation(oid: int, names: Sequence[str], identity: bytes = b"f") -> bytes:
    columns = b"".join(b"\0%b\0%b" % (n.encode(), struct.pack("!Ii", 25, -1)) for n in names)
    return b"R" + struct.pack("!I", oid) + b"public\0t\0" + identity + _count(names) + columns


def row(values: Sequence[bytes | None], unchanged: int | None = None) -> bytes:
    found = _count(values)
    for place, value in enumerate(values):
        if place == unchanged:
            found += b"u"
        else:
            found += b"n" if value is None else b"t" + struct.pack("!I", len(value)) + value
    return found


def change(kind: bytes, oid: int, rest: bytes) -> bytes:
    return kind + struct.pack("!I", oid) + rest


def begin(position: int) -> bytes:
    return b"B" + struct.pack("!QQI", position, 0, 7)


def commit(position: int) -> bytes:
    return b"C\0" + struct.pack("!QQQ", position, position + 8, 0)


def _count(items: Sequence[object]) -> bytes:
    return struct.pack("!H", len(items))


def decoded(
    messages: Sequence[bytes], sizes: Sequence[int], names: tuple[str, ...], limits: tuple[int, int]
) -> list[tuple[bool, Row]]:
    """The changes of messages that come in pieces of some sizes."""
    rows = [b"\0\1" + struct.pack("!I", len(message)) + message for message in messages]
    rows = [HEAD + (rows[0] if rows else b""), *rows[1:], END] if rows else [HEAD + END]
    decoder = Decoder(oid=OURS, start=limits[0], end=limits[1], names=names)
    found: list[tuple[bool, Row]] = []
    at = 0
    for size in [*sizes, len(rows)]:
        piece, at = rows[at : at + size], at + size
        for part in decoder.decoded(piece) if piece else ():
            texts = [part.texts(name).to_pylist() for name in names]
            found += zip(part.come.tolist(), zip(*texts, strict=True), strict=True)
    return found


@dataclass
class Log:
    """Messages, and the changes that are in them."""

    messages: list[bytes] = field(default_factory=list)
    wanted: list[tuple[bool, Row]] = field(default_factory=list)


@st.composite
def logs(draw: st.DrawFn) -> Log:
    log, position, is_known = Log(), 100, False
    order = ["a", "b", "c"]
    for _ in range(draw(st.integers(0, 4))):
        position += draw(st.integers(8, 50))
        is_counted = 130 <= position < 200
        log.messages.append(begin(position))
        for _ in range(draw(st.integers(0, 5))):
            oid = draw(st.sampled_from((OURS, OURS, OTHER)))
            if oid == OTHER:
                log.messages += [relation(OTHER, ["z"]), change(b"I", OTHER, b"N" + row([b"1"]))]
                continue
            if not is_known or draw(st.booleans()):
                order = draw(st.permutations(order))
                log.messages.append(relation(OURS, order))
                is_known = True
            old, new = draw(ROWS), draw(ROWS)
            by_name = [dict(zip("abc", values, strict=True)) for values in (old, new)]
            olds, news = ([values[name] for name in order] for values in by_name)
            kind = draw(st.sampled_from((b"I", b"U", b"D")))
            changes: list[tuple[bool, Row]] = []
            if kind == b"I":
                rest, changes = b"N" + row(news), [(True, new)]
            elif kind == b"D":
                rest, changes = b"O" + row(olds), [(False, old)]
            else:
                kept = draw(st.one_of(st.none(), st.integers(0, 2)))
                rest = b"O" + row(olds) + b"N" + row(news, kept)
                if kept is not None:
                    by_name[1][order[kept]] = by_name[0][order[kept]]
                changes = [(False, old), (True, tuple(by_name[1][name] for name in "abc"))]
            log.messages.append(change(kind, OURS, rest))
            log.wanted += changes if is_counted else []
        log.messages.append(commit(position))
    return log


@given(logs(), st.lists(st.integers(1, 7), max_size=6))
def test_changes_are_those_that_were_told(log: Log, sizes: list[int]) -> None:
    assert decoded(log.messages, sizes, ("a", "b", "c"), (130, 200)) == log.wanted


def test_of_a_key_the_rest_is_not_told_and_what_is_left_is_named() -> None:
    known = [begin(10), relation(OURS, ["id", "v"], b"d")]
    moved = change(b"U", OURS, b"K" + row([b"1", None]) + b"N" + row([b"2", b"x"]))
    same = change(b"U", OURS, b"N" + row([b"2", b"y"]))
    gone = change(b"D", OURS, b"K" + row([b"2", None]))
    found = decoded([*known, moved, same, gone], [], ("id", "v"), (0, 99))
    rows = [(False, (b"1", None)), (True, (b"2", b"x")), (True, (b"2", b"y"))]
    assert found == [*rows, (False, (b"2", None))]
    untold = change(b"U", OURS, b"N" + row([b"2", b""], 1))
    rows_of = [b"\0\1" + struct.pack("!I", len(m)) + m for m in (*known, untold)]
    rows_of[0] = HEAD + rows_of[0]
    (part,) = Decoder(oid=OURS, start=0, end=99, names=("id", "v")).decoded(rows_of)
    assert (part.is_untold("id"), part.is_untold("v")) == (False, True)
    assert part.relation.identity == "d"


def test_what_is_no_change_of_rows_is_told() -> None:
    known = [begin(10), relation(OURS, ["id"])]
    for tables, is_ours in (((OTHER,), False), ((OTHER, OURS), True)):
        oids = b"".join(struct.pack("!I", oid) for oid in tables)
        message = b"T" + struct.pack("!I", len(tables)) + b"\0" + oids
        if is_ours:
            with pytest.raises(Truncated):
                decoded([*known, message], [], ("id",), (0, 99))
        assert decoded([*known, message][: 3 - is_ours], [], ("id",), (0, 99)) == []
        assert decoded([begin(5), message], [], ("id",), (6, 99)) == []
    with pytest.raises(KeyError):
        decoded([*known, change(b"D", OURS, b"O" + row([b"1"]))], [], ("other",), (0, 99))
    assert decoded([], [], ("id",), (0, 99)) == []
