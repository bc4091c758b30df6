"""Goal: all tables that are valid at a barrier have what their queries give at that barrier.

Method: hypothesis makes jobs that read roots and each other's tables, writes to roots, barriers
that some jobs take and some let pass, and epochs that end later. A table's content is the set of
the contents that its job has read, so the model knows what each table would be at each barrier by
recomputing it from the roots.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from table_store.catalog.jobs.ledger import Barrier, Head, Root
from table_store.catalog.jobs.progress import Taken, Track
from table_store.catalog.meta_service.topology import Topology, snapshots_at

ROOTS = ("/r0", "/r1", "/r2")
SINKS = ("/s3", "/s4", "/s5", "/s6")
Content: TypeAlias = frozenset[tuple[str, object]]


@dataclass
class World:
    """Tables with all of their snapshots, the ledger, and what jobs have taken."""

    sources: Mapping[str, frozenset[str]]
    contents: dict[str, list[Content]] = field(default_factory=dict)
    ledger: list[Barrier] = field(default_factory=list)
    tracks: dict[str, Track] = field(default_factory=dict)
    busy: list[tuple[str, Barrier]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.contents = {table: [frozenset()] for table in (*ROOTS, *SINKS)}

    def write(self, root: str, *, is_compaction: bool) -> None:
        """A new snapshot of a root."""
        last = self.contents[root][-1]
        new = last if is_compaction else frozenset({(root, len(self.contents[root]))})
        self.contents[root].append(new)

    def cut(self, wanted: set[str]) -> None:
        """A barrier that jobs take if those below them do, and none of them is at work."""
        busy = {job for job, _ in self.busy}
        takers: list[str] = []
        for job in SINKS:
            if job in wanted - busy and self.sources[job] & set(SINKS) <= set(takers):
                takers.append(job)
        working = [job for job in takers if self._has_work(job, takers)]
        number = 10 * (len(self.ledger) + 1)
        roots = dict(self.ledger[-1].roots) if self.ledger else {}
        for path in {p for job in working for p in self.sources[job]} - set(working):
            head = Head(snapshot=len(self.contents[path]) - 1, created_ms=1)
            roots[path] = Root(head=head, position=len(self.ledger) + 1)
        if working:
            self.ledger.append(
                Barrier(
                    number=number,
                    position=len(self.ledger) + 1,
                    id=str(number),
                    previous="",
                    roots=roots,
                )
            )
            self.busy += [(job, self.ledger[-1]) for job in working]

    def _has_work(self, job: str, takers: list[str]) -> bool:
        track = self.tracks.get(job)
        if track is None or any(
            other in takers and self._has_work(other, takers) for other in self.sources[job]
        ):
            return True
        followed = track.taken[-1].sources
        return any(len(self.contents[p]) - 1 != at for p, at in followed.items())

    def end_epoch(self) -> None:
        """The oldest epoch reads its sources at the barrier and commits."""
        job, barrier = self.busy.pop(0)
        working = {p for p in self.sources[job] if p in SINKS and self._took(p, barrier)}
        followed = {
            path: len(self.contents[path]) - 1
            if path in working
            else barrier.roots[path].head.snapshot
            for path in self.sources[job]
        }
        content = frozenset((path, self.contents[path][at]) for path, at in followed.items())
        if content != self.contents[job][-1] or job not in self.tracks:
            self.contents[job].append(content)
        taken = Taken(
            barrier=barrier.number, snapshot=len(self.contents[job]) - 1, sources=followed
        )
        self.tracks[job] = self.tracks.get(job, Track()).extended(taken)

    def _took(self, job: str, barrier: Barrier) -> bool:
        track = self.tracks.get(job)
        return track is not None and track.taken[-1].barrier == barrier.number

    def content_at(self, table: str, barrier: Barrier) -> Content:
        """What a table would be if all jobs had followed their sources to a barrier."""
        if table in ROOTS:
            return self.contents[table][barrier.roots[table].head.snapshot]
        return frozenset((p, self.content_at(p, barrier)) for p in self.sources[table])

    def has_same_rows(self, path: str, one: int, other: int) -> bool:
        """Whether two snapshots have the same rows."""
        return self.contents[path][one] == self.contents[path][other]


@st.composite
def topologies(draw: st.DrawFn) -> dict[str, frozenset[str]]:
    found = {}
    for number, sink in enumerate(SINKS):
        among = st.sampled_from((*ROOTS, *SINKS[:number]))
        found[sink] = draw(st.frozensets(among, min_size=1, max_size=3))
    return found


STEPS = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(ROOTS), st.booleans()),
    st.tuples(st.just("cut"), st.sets(st.sampled_from(SINKS), min_size=1)),
    st.tuples(st.just("end")),
)


@given(sources=topologies(), steps=st.lists(STEPS, max_size=40))
def test_valid_tables_are_what_their_queries_give_at_the_barrier(
    sources: dict[str, frozenset[str]], steps: list[tuple[object, ...]]
) -> None:
    world = World(sources)
    for step in steps:
        match step:
            case ("write", str(root), bool(is_compaction)):
                world.write(root, is_compaction=is_compaction)
            case ("cut", set(wanted)):
                world.cut({str(job) for job in wanted})
            case ("end",) if world.busy:
                world.end_epoch()
        _check(world)
    while world.busy:
        world.end_epoch()
    world.cut(set(SINKS))
    while world.busy:
        world.end_epoch()
    _check(world)
    if world.ledger:
        found = snapshots_at(world.ledger[-1], SINKS, world.tracks, world.has_same_rows)
        assert found.keys() == set(SINKS), "all have followed their sources to the last barrier"


def _check(world: World) -> None:
    for barrier in world.ledger:
        tables = [t for t in (*ROOTS, *SINKS) if t in SINKS or t in barrier.roots]
        tracks = {sink: world.tracks.get(sink, Track()) for sink in SINKS}
        found = snapshots_at(barrier, tables, tracks, world.has_same_rows)
        for table, at in found.items():
            assert world.contents[table][at] == world.content_at(table, barrier)


@given(sources=topologies())
def test_tables_of_a_component_are_connected_by_jobs(sources: dict[str, frozenset[str]]) -> None:
    components = Topology(sources).components
    links = {(sink, source) for sink, below in sources.items() for source in below}
    assert components.keys() == {table for link in links for table in link}
    for table, component in components.items():
        reached = {table}
        while more := {
            other
            for one, two in links
            for here, other in ((one, two), (two, one))
            if here in reached and other not in reached
        }:
            reached |= more
        assert component == reached
