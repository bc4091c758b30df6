"""Goal: of any number of takers one succeeds, however old the listing was that they acted on."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Barrier, Thread

import pytest

from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.local_file_io import LocalFileIO


def claim_in(folder: Path) -> Claim:
    """A claim whose files are in `folder`."""
    return Claim(LocalFileIO(str(folder)), str(folder / "claim"))


def files_of(folder: Path) -> list[str]:
    """The names of the claim's files."""
    return sorted(path.name for path in (folder / "claim").iterdir())


def test_the_latest_entry_counts_and_the_others_go(tmp_path: Path) -> None:
    claim = claim_in(tmp_path)
    assert claim.latest() is None
    for number, content in enumerate((b"a", b"", b"c"), 1):
        assert claim.add(number, content)
        latest = claim.latest()
        assert latest is not None
        assert (latest.number, latest.content) == (number, content)
        assert Path(latest.path).read_bytes() == content
    assert files_of(tmp_path) == ["000000000003"]


def test_a_number_is_given_once(tmp_path: Path) -> None:
    claim = claim_in(tmp_path)
    assert claim.add(1, b"a")
    assert not claim.add(1, b"b")
    latest = claim.latest()
    assert latest is not None
    assert latest.content == b"a"


def test_who_acts_on_an_old_listing_takes_nothing(tmp_path: Path) -> None:
    """Number 2 was given and deleted since the listing, so its name is free again."""
    claim = claim_in(tmp_path)
    for number in (1, 2, 3):
        assert claim.add(number, b"other")
    assert not claim.add(2, b"late")
    assert files_of(tmp_path) == ["000000000003"]


def test_what_a_crash_leaves_does_no_harm(tmp_path: Path) -> None:
    """A process may die before it deletes the files before its own, or its own one."""
    claim = claim_in(tmp_path)
    assert claim.add(1, b"a")
    for number in (2, 4):
        assert claim.file_io.write_new(f"{claim.folder}/{number:012d}", b"left")
    latest = claim.latest()
    assert latest is not None
    assert latest.number == 4
    assert claim.add(5, b"b")
    assert files_of(tmp_path) == ["000000000005"]


def test_one_of_many_at_once_succeeds(tmp_path: Path) -> None:
    won: list[int] = []
    barrier = Barrier(8)

    def take(taker: int) -> None:
        barrier.wait()
        if claim_in(tmp_path).add(1, b"%d" % taker):
            won.append(taker)

    takers = [Thread(target=take, args=(i,)) for i in range(8)]
    for taker in takers:
        taker.start()
    for taker in takers:
        taker.join()
    latest = claim_in(tmp_path).latest()
    assert latest is not None
    assert [int(latest.content)] == won


def test_a_later_entry_that_goes_while_it_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A taker creates a number that others have passed, and they go on while it looks around."""
    claim = claim_in(tmp_path)
    assert claim.add(1, b"a")
    names = os.listdir

    def passed(path: str) -> list[str]:
        monkeypatch.undo()
        seen = names(path)
        Path(path, "000000000004").write_bytes(b"later still")
        Path(path, "000000000003").unlink()
        return seen

    Path(tmp_path, "claim", "000000000003").write_bytes(b"later")
    monkeypatch.setattr(os, "listdir", passed)
    assert not claim.add(2, b"b")
    assert files_of(tmp_path) == ["000000000001", "000000000004"]
