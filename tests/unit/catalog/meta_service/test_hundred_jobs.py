"""Goal: what a statement, a cut and a registration cost grows only with the tables they look at.

Method: the calls to the file system are counted, for 110 tables, 100 jobs and a long ledger. A
bound on calls holds on every machine; with it each of them takes some tens of milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from table_store.catalog.jobs.ledger import Ledger
from table_store.catalog.meta_service.consistency import Consistency, ConsistentReads
from table_store.catalog.meta_service.one_moment import roots_at_once
from table_store.catalog.meta_service.registry import JobRegistry
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology

MANY, ROOTS = 100, 10
BARRIERS = 30
CALLS = ("list", "read_bytes", "read_part", "exists", "status", "write_bytes", "write_new")


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> WrittenTopology:
    """Jobs of which each reads two of the roots, so that all tables hang together."""
    root = str(tmp_path_factory.mktemp("hundred") / "warehouse")
    made = WrittenTopology(Warehouse(LocalFileIO(root), root, SystemClock(), RandomIds()))
    roots = [f"r{number}" for number in range(ROOTS)]
    for name in roots:
        made.write(name)
    first = made.cut(SystemClock().now_ms(), *roots)
    for number in range(MANY):
        read = {f"r{number % ROOTS}": 1, f"r{(number + 1) % ROOTS}": 1}
        made.epoch(f"s{number}", first, **read)
    for _ in range(BARRIERS):
        made.cut(SystemClock().now_ms())
    return made


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    found: list[str] = []
    with monkeypatch.context() as patched:
        for name in CALLS:
            if not hasattr(LocalFileIO, name):
                continue
            original = getattr(LocalFileIO, name)

            def call(
                self: LocalFileIO,
                *given: object,
                _name: str = name,
                _of: object = original,
                **named: object,
            ) -> object:
                found.append(_name)
                return _of(self, *given, **named)  # type: ignore[operator]

            patched.setattr(LocalFileIO, name, call)
        yield found


def test_a_statement_reads_a_few_files_of_each_job(
    written: WrittenTopology, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = written.table("s1").path
    with counted(monkeypatch) as calls:
        (pinned,) = ConsistentReads.of(written.warehouse).pinned(
            [table], Consistency.REPEATABLE_READ
        )
    assert pinned.snapshots == {table: 1}
    assert 2 * MANY < len(calls) < 5 * MANY


def test_a_cut_looks_at_each_table_twice(
    written: WrittenTopology, monkeypatch: pytest.MonkeyPatch
) -> None:
    few, many = ([written.table(f"s{n}").path for n in range(count)] for count in (2, MANY))
    ledger = Ledger.of(written.warehouse)
    costs = []
    for paths in (few, many):
        with counted(monkeypatch) as calls:
            last, heads = ledger.latest(), roots_at_once(written.warehouse, paths)
            barrier = ledger.extended(last, SystemClock().now_ms(), heads)
        assert barrier is not None
        assert {path: barrier.snapshots[path] for path in paths} == dict.fromkeys(paths, 1)
        costs.append(len(calls))
    assert costs[1] < 20 * MANY
    assert costs[0] < 60, "it does not grow with the jobs that have nothing to do with it"


def test_a_registration_costs_the_same_among_many(
    written: WrittenTopology, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = JobRegistry.of(written.warehouse)
    job = registry.find(written.table("s7").path)
    assert job is not None
    registry.remove(job.sink)
    with counted(monkeypatch) as calls:
        registry.register(job)
    assert sorted(calls) == ["read_bytes", "write_bytes"]
    assert registry.find(job.sink) == job
