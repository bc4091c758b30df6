"""Goal: all who look at a source agree how many rows are out, whoever was faster or slept."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

from table_store.catalog.connectors.positions.position import (
    CUTS_MAX,
    Cut,
    Position,
    PositionStore,
    Stretch,
    TopicCuts,
)
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.checked_json import to_checked_json

FIRST = Position(rows=5, at_ms=10, stretches=(Stretch(0, 3), Stretch(2, 9)))


def store(folder: Path) -> PositionStore:
    return PositionStore(LocalFileIO(str(folder)), str(folder))


def test_positions_are_kept(tmp_path: Path) -> None:
    positions = store(tmp_path)
    assert positions.last() is None
    assert positions.advanced(lambda last: FIRST if last is None else None) == FIRST
    assert positions.last() == FIRST
    assert positions.advanced(lambda _: None) == FIRST


def test_only_the_last_ones_stay(tmp_path: Path) -> None:
    positions = store(tmp_path)

    def following(last: Position | None) -> Position | None:
        known = last or FIRST
        return None if known.rows == number else replace(known, rows=number)

    for number in range(6, 50):
        assert positions.advanced(following) == replace(FIRST, rows=number)
    names = sorted(path.name for path in (tmp_path / "position").iterdir())
    assert names == [f"{place:012d}" for place in (42, 43, 44)]


def test_who_was_slower_takes_what_is_there(tmp_path: Path) -> None:
    """And one that slept while its place came and went changes nothing."""
    positions = store(tmp_path)
    positions.advanced(lambda last: FIRST if last is None else None)
    asked: list[int] = []

    def slow(last: Position | None) -> Position | None:
        assert last is not None
        asked.append(last.rows)
        if len(asked) == 1:
            for rows in range(20, 26):
                positions.advanced(partial(_up_to, rows))
            return replace(last, rows=7)
        return None

    assert positions.advanced(slow) == replace(FIRST, rows=25)
    assert asked == [5, 25]
    assert positions.last() == replace(FIRST, rows=25)


def _up_to(rows: int, known: Position | None) -> Position | None:
    assert known is not None
    return None if known.rows >= rows else replace(known, rows=rows)


def test_cuts_of_a_topic_are_found_again(tmp_path: Path) -> None:
    """Of the last file and of those that stay; the model is a dictionary."""
    positions = store(tmp_path)
    model = {0: (0, 3)}
    for rows in range(2, 1_300, 2):
        model[rows] = (rows // 2, 3 + rows // 2)
        positions.advanced(partial(_with_cut, Cut(rows, model[rows])))
    for rows in (0, 2, 4, 300, 510, 512, 514, 1_022, 1_024, 1_026, 1_296, 1_298):
        assert positions.cut(rows) == Cut(rows, model[rows])
    assert [positions.cut(rows) for rows in (1, 999, 1_300)] == [None, None, None]
    names = {int(path.name) for path in (tmp_path / "position").iterdir()}
    assert names == {256, 512, 647, 648, 649}
    (tmp_path / "position" / f"{512:012d}").unlink()
    assert positions.cut(514) is None
    assert positions.cut(512) == Cut(512, model[512])


def _with_cut(cut: Cut, last: Position | None) -> Position | None:
    known = TopicCuts(id="t", start=(0, 3), cuts=()) if last is None else last.topic
    assert known is not None
    if last is not None and last.rows == cut.rows:
        return None
    topic = replace(known, cuts=(*known.cuts, cut)[-CUTS_MAX:])
    return Position(rows=cut.rows, at_ms=cut.rows, topic=topic)


def test_an_older_release_kept_no_marks(tmp_path: Path) -> None:
    """Its file of version 4, without those of servers and transactions, is read."""
    item = {
        "rows": 4,
        "at": 7,
        "stretches": [],
        "topic": {"id": "t", "start": [0, 3], "cuts": [[4, [2, 5]]]},
        "files": None,
    }
    found = Position.from_bytes(to_checked_json(item, version=4), path="p")
    topic = TopicCuts(id="t", start=(0, 3), cuts=(Cut(4, (2, 5)),))
    assert found == Position(rows=4, at_ms=7, topic=topic)
