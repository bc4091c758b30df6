"""Goal: one streaming query writes a table at a time; a place that nobody fills is free."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.errors import StreamWriterExistsError
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.catalog.tables.stream_writer_claim import (
    CLAIM_FOLDER,
    LEASE_MS,
    StreamWriter,
    StreamWriterClaim,
)
from table_store.storage.file_io.local_file_io import LocalFileIO
from tests.fakes.manual_clock import ManualClock

HERE = identity_of()
ELSEWHERE = ProcessIdentity(host="another", pid=1, start="x")
DEAD = replace(HERE, start="long ago")
# A process of this machine that surely runs, and is not this one.
NEIGHBOUR = identity_of(1)


@pytest.fixture
def claim(tmp_path: Path) -> StreamWriterClaim:
    return StreamWriterClaim(
        file_io=LocalFileIO(str(tmp_path)), path=str(tmp_path), name="t", clock=ManualClock()
    )


def writer(query: str, holder: ProcessIdentity = HERE, run: str = "1") -> StreamWriter:
    return StreamWriter(query=query, run=run, holder=holder)


def test_second_query_of_the_process(claim: StreamWriterClaim) -> None:
    """It waits for the first to end, and need not be told when that has happened."""
    claim.take(writer("a"), ["a"])
    claim.take(writer("a"), ["a"])
    for refused in (claim.check, claim.take):
        with pytest.raises(StreamWriterExistsError, match="query a of process"):
            refused(writer("b"), ["a", "b"])
    claim.take(writer("b"), ["b"])
    with pytest.raises(StreamWriterExistsError):
        claim.take(writer("a"), ["a", "b"])


def test_given_back(claim: StreamWriterClaim) -> None:
    """Only by the run that has it: an older one may say so late."""
    claim.take(writer("a", NEIGHBOUR), ["a"])
    claim.take(writer("a", NEIGHBOUR, run="2"), ["a"])
    claim.give_back(writer("a", NEIGHBOUR))
    with pytest.raises(StreamWriterExistsError):
        claim.check(writer("b"), ["b"])
    claim.give_back(writer("a", NEIGHBOUR, run="2"))
    claim.take(writer("b"), ["b"])


def test_same_query_in_two_processes(claim: StreamWriterClaim) -> None:
    claim.take(writer("a", NEIGHBOUR), ["a"])
    with pytest.raises(StreamWriterExistsError):
        claim.take(writer("a"), ["a"])


def test_dead(claim: StreamWriterClaim) -> None:
    """Another query takes over where the process is gone."""
    claim.take(writer("a", DEAD), ["a"])
    claim.take(writer("b"), ["b"])
    with pytest.raises(StreamWriterExistsError):
        claim.check(writer("a", NEIGHBOUR), ["a"])


def test_another_machine(claim: StreamWriterClaim) -> None:
    """Nobody can look there: it has to say that it runs, except to its own successor."""
    clock = claim.clock
    assert isinstance(clock, ManualClock)
    claim.take(writer("a", ELSEWHERE), ["a"])
    clock.sleep_ms(LEASE_MS - 1)
    claim.take(writer("a", ELSEWHERE), ["a"])
    clock.sleep_ms(LEASE_MS - 1)
    with pytest.raises(StreamWriterExistsError, match="on another,"):
        claim.take(writer("b"), ["b"])
    clock.sleep_ms(2)
    claim.check(writer("b"), ["b"])
    claim.take(writer("a"), ["a"])


def test_whether_anybody_writes(claim: StreamWriterClaim) -> None:
    """Asked by a statement that no streaming query may run beside."""
    claim.check_free()
    claim.take(writer("a", NEIGHBOUR), [])
    with pytest.raises(StreamWriterExistsError, match="query a of process 1"):
        claim.check_free()
    claim.give_back(writer("a", NEIGHBOUR))
    claim.check_free()
    claim.take(writer("a", DEAD), [])
    claim.check_free()


def test_files_do_not_pile_up(claim: StreamWriterClaim) -> None:
    for number in range(20):
        claim.take(writer(str(number)), [str(number)])
        claim.give_back(writer(str(number)))
    assert len(list((Path(claim.path) / CLAIM_FOLDER).iterdir())) == 1


def test_who_is_known_to_live(claim: StreamWriterClaim) -> None:
    assert claim.holds("a") is None
    claim.take(writer("a", NEIGHBOUR), [])
    assert claim.holds("a") is True
    assert claim.holds("b") is False
    claim.give_back(writer("a", NEIGHBOUR))
    assert claim.holds("a") is None
    claim.take(writer("a", DEAD), [])
    assert claim.holds("a") is False
    claim.take(writer("a", ELSEWHERE), [])
    assert claim.holds("a") is True
    assert isinstance(claim.clock, ManualClock)
    claim.clock.time_ms += LEASE_MS + 1
    assert claim.holds("a") is False


def test_a_deposed_process(claim: StreamWriterClaim) -> None:
    """It need not be dead, and only what it has is taken over."""
    claim.take(writer("a", NEIGHBOUR), [])
    claim.take_over(writer("a"), ELSEWHERE)
    assert claim.holds("a") is True
    with pytest.raises(StreamWriterExistsError):
        claim.take(writer("a"), ["a"])
    claim.take_over(writer("a"), NEIGHBOUR)
    claim.take(writer("a"), ["a"])
    with pytest.raises(StreamWriterExistsError):
        claim.take(writer("a", NEIGHBOUR), ["a"])
