"""Goal: there is one revision at a time; one that was left is taken up by its own request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.jobs.revision_errors import RevisionOpenError
from table_store.catalog.meta_service.revision import (
    Revision,
    RevisionClaim,
    RevisionMode,
    RevisionRequest,
)
from table_store.catalog.names.process_identity import ProcessIdentity, identity_of
from table_store.storage.file_io.claim import Claim
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.errors import InvalidOptionError
from tests.fakes.manual_clock import ManualClock

ME = identity_of()
DEAD = replace(ME, start="x")
ELSEWHERE = ProcessIdentity(host="elsewhere", pid=1, start="x")
WANTED = Revision(
    number=5, table="/t", name="t", request="[1]", tables=frozenset({"/t", "/s"}), holder=ME
)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def claim(tmp_path: Path, clock: ManualClock) -> RevisionClaim:
    return RevisionClaim(Claim(LocalFileIO(str(tmp_path)), str(tmp_path / "_revision")), clock)


def test_one_at_a_time(claim: RevisionClaim) -> None:
    assert claim.current() is None
    begun = claim.begin(WANTED)
    assert claim.current() == begun == WANTED
    for other in (WANTED, replace(WANTED, table="/u", name="u")):
        with pytest.raises(RevisionOpenError, match="of t is under way"):
            claim.begin(other)
    claim.end(begun)
    assert claim.current() is None
    assert claim.begin(replace(WANTED, table="/u")).table == "/u"


def test_who_touches_its_tables_waits(claim: RevisionClaim) -> None:
    revision = claim.begin(WANTED)
    assert revision.holds("/s", ["/a"])
    assert revision.holds("/new", ["/a", "/t"])
    assert not revision.holds("/new", ["/a"])


@pytest.mark.parametrize("holder", [DEAD, None])
def test_the_same_request_goes_on(claim: RevisionClaim, holder: ProcessIdentity | None) -> None:
    begun = claim.begin(replace(WANTED, holder=DEAD))
    if holder is None:
        claim.leave(begun)
    with pytest.raises(RevisionOpenError, match=r"has not come to its end.*same CALL"):
        claim.begin(replace(WANTED, request="[2]"))
    again = claim.begin(replace(WANTED, number=9, tables=frozenset({"/more"})))
    assert again == replace(WANTED, number=5, tables=frozenset({"/t", "/s", "/more"}))
    with pytest.raises(RevisionOpenError):
        claim.renew(begun)
    claim.end(begun)
    claim.leave(begun)
    assert claim.current() == again, "who was overtaken does not close it"


def test_another_machine_is_counted_on_for_a_while(
    claim: RevisionClaim, clock: ManualClock
) -> None:
    begun = claim.begin(replace(WANTED, holder=ELSEWHERE))
    clock.sleep_ms(250_000)
    claim.renew(begun)
    clock.sleep_ms(250_000)
    with pytest.raises(RevisionOpenError, match="is under way"):
        claim.begin(WANTED)
    clock.sleep_ms(100_000)
    assert claim.begin(WANTED).holder == ME


def test_requests() -> None:
    assert RevisionRequest.of(3, None, None).mode is RevisionMode.INCREMENTAL
    assert RevisionRequest.of(None, None, "FULL").mode is RevisionMode.FULL
    texts = {
        RevisionRequest.of(*arguments).text
        for arguments in ((3, None, None), (3, None, "full"), (None, "3", None), (4, None, None))
    }
    assert len(texts) == 4
    for wrong in ((3, "x", None), (None, None, None), (3, None, "some")):
        with pytest.raises(InvalidOptionError):
            RevisionRequest.of(*wrong)
