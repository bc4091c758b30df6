"""Goal: every `FileIO` keeps the promises of storage/file_io/file_io.py.

One suite over all implementations. A new store joins by one entry in `STORES`.
"""

from __future__ import annotations

import pickle
import threading
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_io.object_file_io import ObjectFileIO
from table_store.storage.file_store.model.snapshot import CommitKind
from table_store.storage.file_store.model.storage_settings import RetryPolicy
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    MissingFileError,
    PathNotAllowedError,
)
from tests.fakes import served_s3
from tests.fakes.metadata_table import MetadataTable, make_file

PATIENT = RetryPolicy(max_retries=100)

Store = tuple[FileIO, str]


def local(folder: Path) -> Store:
    return LocalFileIO(str(folder)), str(folder)


def memory(folder: Path) -> Store:
    root = f"memory://{folder.name}/warehouse"
    return ObjectFileIO(root), root


def served(folder: Path) -> Store:
    root = f"s3://{served_s3.BUCKET}/{folder.name}"
    return ObjectFileIO(root, served_s3.start()), root


STORES: dict[str, Callable[[Path], Store]] = {
    "local": local,
    "memory objects": memory,
    "served s3": served,
}
MARKS = {"served s3": pytest.mark.object_store}


@pytest.fixture(params=[pytest.param(n, marks=MARKS.get(n, ())) for n in STORES])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    return STORES[request.param](tmp_path)


def test_tables_commit_on_every_store(store: Store) -> None:
    """Four writers at once, each three commits: twelve snapshots, every file live."""
    io, root = store
    MetadataTable(root, file_io=io).create()
    tables = [MetadataTable(root, file_io=io, retry=PATIENT) for _ in range(4)]

    def work(number: int) -> None:
        for i in range(3):
            file = make_file(f"f{number}-{i}", partition=("p1",), keys=(0, 9))
            tables[number].commit.commit(
                tables[number].write(file), kind=CommitKind.APPEND, commit_user=file.name
            )

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    fresh = MetadataTable(root, file_io=io)
    assert fresh.snapshots.ids() == tuple(range(1, 13))
    assert fresh.names() == {f"f{n}-{i}" for n in range(4) for i in range(3)}


def test_written_bytes_are_read_back_and_replaced(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/a/b", b"one")
    assert io.read_bytes(f"{root}/a/b") == b"one"
    io.write_bytes(f"{root}/a/b", b"two", durable=False)
    assert io.read_bytes(f"{root}/a/b") == b"two"
    assert io.size(f"{root}/a/b") == 3


def test_write_new_creates_once_and_never_replaces(store: Store) -> None:
    io, root = store
    assert io.write_new(f"{root}/s/1", b"first")
    assert not io.write_new(f"{root}/s/1", b"second")
    assert io.read_bytes(f"{root}/s/1") == b"first"


def test_private_files_are_files_like_others(store: Store) -> None:
    io, root = store
    assert io.write_new(f"{root}/s/1", b"first", private=True)
    assert not io.write_new(f"{root}/s/1", b"second", private=True)
    io.write_bytes(f"{root}/s/2", b"one", private=True)
    io.write_bytes(f"{root}/s/2", b"two", durable=False, private=True)
    assert io.read_bytes(f"{root}/s/1") == b"first"
    assert io.read_bytes(f"{root}/s/2") == b"two"
    assert [status.name for status in io.list(f"{root}/s")] == ["1", "2"]


def test_of_many_creators_exactly_one_wins(store: Store) -> None:
    io, root = store
    for round_number in range(10):
        barrier = threading.Barrier(8)
        winners: list[int] = []

        def create(
            me: int,
            barrier: threading.Barrier = barrier,
            winners: list[int] = winners,
            path: str = f"{root}/race/{round_number}",
        ) -> None:
            barrier.wait()
            if io.write_new(path, b"%d" % me):
                winners.append(me)

        threads = [threading.Thread(target=create, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(winners) == 1
        assert io.read_bytes(f"{root}/race/{round_number}") == b"%d" % winners[0]
    assert len(io.list(f"{root}/race")) == 10, "no temporary file is left"


def test_several_files_at_once(store: Store) -> None:
    io, root = store
    files = {f"{root}/m/{i}": b"x" * i for i in range(5)} | {f"{root}/n/z": b"z"}
    io.write_files(files)
    assert {path: io.read_bytes(path) for path in files} == files


def test_what_is_missing_is_reported_by_name(store: Store) -> None:
    io, root = store
    for call in (io.read_bytes, io.open_input, io.size):
        with pytest.raises(MissingFileError) as caught:
            call(f"{root}/nothing")
        assert caught.value.path == f"{root}/nothing"
    assert not io.exists(f"{root}/nothing")
    assert io.list(f"{root}/nothing") == () == io.names(f"{root}/nothing")
    io.delete(f"{root}/nothing")
    io.delete(f"{root}/nothing", recursive=True)
    io.write_bytes(f"{root}/folder/file", b"1")
    for call in (io.read_bytes, io.open_input):
        with pytest.raises(MissingFileError):
            call(f"{root}/folder")


def test_listing_shows_the_entries_of_one_folder(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/t/b", b"12345")
    io.write_bytes(f"{root}/t/a", b"1")
    io.write_bytes(f"{root}/t/sub/deep", b"1")
    entries = io.list(f"{root}/t")
    assert [(e.name, e.is_dir, e.size) for e in entries] == [
        ("a", False, 1),
        ("b", False, 5),
        ("sub", True, 0),
    ]
    assert [e.path for e in entries] == [f"{root}/t/{n}" for n in ("a", "b", "sub")]
    assert io.names(f"{root}/t") == ("a", "b", "sub")
    assert all(e.modified_ms > 1_600_000_000_000 for e in entries if not e.is_dir)


def test_files_at_any_depth(store: Store) -> None:
    """At once where the store has that, and then folders have no mark."""
    io, root = store
    assert io.list_below(root) in ((), None)
    names = ["a", "b/c=x%2F1/d", "b/é e", "b c/empty"]
    for number, name in enumerate(names[:3]):
        io.write_bytes(f"{root}/{name}", b"." * (number + 1))
    io.write_bytes(f"{root}/{names[3]}", b"")
    below = io.list_below(root)
    mark = io.folder_mark(root)
    assert (below is None) != (mark is None)
    if below is not None:
        assert sorted((s.path, s.size) for s in below) == sorted(
            zip((f"{root}/{name}" for name in names), (1, 2, 3, 0), strict=True)
        )
        assert {s.path: s for s in below} == io.statuses([f"{root}/{name}" for name in names])
    io.write_bytes(f"{root}/new", b".")
    assert io.folder_mark(f"{root}/none") is None
    assert mark is None or mark != io.folder_mark(root)


def test_statuses_are_those_of_the_list(store: Store) -> None:
    io, root = store
    for name in ("a", "b", "c/d"):
        io.write_bytes(f"{root}/{name}", name.encode())
    listed = {status.path: status for status in io.list(root) if not status.is_dir}
    assert io.statuses([f"{root}/{name}" for name in ("a", "b", "c", "e", "a/b")]) == listed
    assert io.statuses([f"{root}/e"]) == {}


def test_delete_file_and_folder(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/t/a", b"1")
    io.write_bytes(f"{root}/t/sub/b", b"1")
    io.delete(f"{root}/t/a")
    assert [e.name for e in io.list(f"{root}/t")] == ["sub"]
    io.delete(f"{root}/t", recursive=True)
    assert not io.exists(f"{root}/t/sub/b")


@pytest.mark.parametrize("durable", [False, True])
def test_several_files_are_deleted_or_looked_for_at_once(store: Store, *, durable: bool) -> None:
    io, root = store
    names = [f"{root}/t/{i}" for i in range(5)]
    io.write_files(dict.fromkeys(names[:4], b"1"))
    assert io.missing(names) == (names[4],)
    assert io.missing([]) == ()
    io.delete_files([names[0], names[4], names[2]], durable=durable)  # one of them is absent
    io.delete_files([], durable=durable)
    assert [e.name for e in io.list(f"{root}/t")] == ["1", "3"]
    assert io.missing(names) == (names[0], names[2], names[4])
    with pytest.raises(PathNotAllowedError):
        io.delete_files([names[1], f"{root}/../x"])


def test_rename_dir_moves_everything_and_replaces_nothing(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/old/x/f", b"1")
    io.rename_dir(f"{root}/old", f"{root}/new")
    assert io.read_bytes(f"{root}/new/x/f") == b"1"
    assert io.list(f"{root}/old") == ()
    io.write_bytes(f"{root}/other/f", b"2")
    with pytest.raises(AlreadyExistsError):
        io.rename_dir(f"{root}/other", f"{root}/new")
    with pytest.raises(MissingFileError):
        io.rename_dir(f"{root}/never", f"{root}/else")


def test_parquet_goes_through_streams(store: Store) -> None:
    io, root = store
    table = pa.table({"a": list(range(10_000))})
    output = io.create_output(f"{root}/p=1/bucket-0/data.parquet")
    pq.write_table(table, output)
    written = output.tell()
    output.close()
    output.close()
    assert output.closed
    data = io.read_bytes(f"{root}/p=1/bucket-0/data.parquet")
    assert (len(data), zlib.crc32(data)) == (written, output.checksum)
    with io.open_input(f"{root}/p=1/bucket-0/data.parquet") as source:
        assert pq.read_table(source).equals(table)


def test_an_aborted_output_leaves_nothing(store: Store) -> None:
    io, root = store
    output = io.create_output(f"{root}/t/data")
    output.write(b"half")
    output.abort()
    assert not io.exists(f"{root}/t/data")


def test_an_output_never_replaces_a_file(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/t/data", b"there")
    with pytest.raises(AlreadyExistsError):
        io.create_output(f"{root}/t/data").close()
    assert io.read_bytes(f"{root}/t/data") == b"there"


def test_a_large_output_is_whole_and_replaces_nothing(store: Store) -> None:
    io, root = store
    path, pieces = f"{root}/t/large", [bytes(range(256)) * 4096] * 20 + [b"end"]
    checksum = write_output(io, path, pieces)
    assert io.read_bytes(path) == b"".join(pieces)
    with pytest.raises(AlreadyExistsError):
        write_output(io, path, [bytes(len(piece)) for piece in pieces])
    assert zlib.crc32(io.read_bytes(path)) == checksum


def write_output(io: FileIO, path: str, pieces: list[bytes]) -> int:
    output = io.create_output(path)
    for piece in pieces:
        output.write(piece)
    output.close()
    return output.checksum


@pytest.mark.parametrize("tail", ["/../x", "/a/../../x", "/a/..", "/nul\0", "-sibling/x"], ids=repr)
def test_paths_that_leave_the_root_are_refused(store: Store, tail: str) -> None:
    io, root = store
    for call in (io.read_bytes, io.exists, io.list, io.names, io.delete, io.create_output):
        with pytest.raises(PathNotAllowedError):
            call(root + tail)
    with pytest.raises(PathNotAllowedError):
        io.write_new(root + tail, b"x")
    with pytest.raises(PathNotAllowedError):
        io.write_files({root + tail: b"x"})


def test_awkward_names_are_only_names(store: Store) -> None:
    io, root = store
    names = ["a b", "quote'\"`", "émoji-🦊", "percent%2Fslash", "%2E%2E", "x" * 200, "...", "a=b"]
    for name in names:
        io.write_bytes(f"{root}/odd/{name}", name.encode())
    assert sorted(e.name for e in io.list(f"{root}/odd")) == sorted(names)
    for name in names:
        assert io.read_bytes(f"{root}/odd/{name}") == name.encode()


def test_it_travels_to_other_processes(store: Store) -> None:
    io, root = store
    io.write_bytes(f"{root}/a", b"1")
    assert pickle.loads(pickle.dumps(io)).read_bytes(f"{root}/a") == b"1"
