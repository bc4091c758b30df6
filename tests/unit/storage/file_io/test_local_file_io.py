"""Goal: what only local files have: symbolic links, URIs, errors of the system, torn writes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from table_store.storage.file_io.file_io import TEMP_PREFIX
from table_store.storage.file_io.local_file_io import LocalFileIO, local_path
from table_store.storage.file_io.path import check_name, join_path
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.kernel.errors import FileAccessError, PathNotAllowedError
from tests.fakes.failing_file_io import Killed


def test_links_that_leave_the_root_are_refused(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "secret").write_text("s")
    (root / "folder").symlink_to(outside)
    (root / "file").symlink_to(outside / "secret")
    io = LocalFileIO(str(root))
    for path in (f"{root}/folder/secret", f"{root}/file"):
        with pytest.raises(PathNotAllowedError):
            io.read_bytes(path)
    with pytest.raises(PathNotAllowedError):
        io.write_new(f"{root}/folder/new", b"x")
    assert os.listdir(outside) == ["secret"]


@pytest.mark.parametrize("way", ["create", "replace"])
def test_private_files_are_the_writers_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """From their first byte on, whatever the umask; and only those."""
    modes: list[int] = []
    write = os.write

    def looked_at(handle: int, data: bytes) -> int:
        modes.append(os.fstat(handle).st_mode & 0o777)
        return write(handle, data)

    monkeypatch.setattr(os, "write", looked_at)
    io = LocalFileIO(str(tmp_path))
    umask = os.umask(0o022)
    try:
        for private, mode in ((True, 0o600), (False, 0o644), (True, 0o600)):
            path = tmp_path / ("one" if way == "replace" else f"new{len(modes)}")
            if way == "replace":
                io.write_bytes(str(path), b"x", private=private)
            else:
                assert io.write_new(str(path), b"x", private=private)
            assert path.stat().st_mode & 0o777 == mode
            assert modes.pop() == mode
            modes.append(mode)
    finally:
        os.umask(umask)


def test_links_within_the_root_are_followed(tmp_path: Path) -> None:
    (tmp_path / "t" / "real").mkdir(parents=True)
    (tmp_path / "t" / "alias").symlink_to(tmp_path / "t" / "real")
    (tmp_path / "t" / "again").symlink_to("alias")
    io = LocalFileIO(str(tmp_path / "t"))
    io.write_bytes(f"{tmp_path}/t/again/a", b"1")
    assert (tmp_path / "t" / "real" / "a").read_bytes() == b"1"


def test_names_above_the_root_are_not_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A commit opens dozens of files; a warehouse may lie deep in the tree."""
    root = tmp_path / "a" / "b" / "c" / "t"
    (root / "manifest").mkdir(parents=True)
    io = LocalFileIO(str(root))
    io.write_bytes(f"{root}/manifest/m", b"1")
    asked: list[str] = []
    lstat = os.lstat

    def counted(path: str) -> os.stat_result:
        asked.append(path)
        return lstat(path)

    monkeypatch.setattr(os, "lstat", counted)
    assert io.read_bytes(f"{root}/manifest/m") == b"1"
    assert asked == [f"{root}/manifest", f"{root}/manifest/m"]


def test_a_listing_is_of_one_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file goes, and another one comes, while the sizes of what is there are looked up."""
    Path(tmp_path, "3").write_bytes(b"first")
    entries = os.scandir

    def passed(path: str) -> list[os.DirEntry[str]]:
        monkeypatch.undo()
        seen = list(entries(path))
        Path(path, "4").write_bytes(b"later")
        Path(path, "3").unlink()
        return seen

    monkeypatch.setattr(os, "scandir", passed)
    files = LocalFileIO(str(tmp_path))
    assert [(entry.name, entry.size) for entry in files.list(str(tmp_path))] == [("3", 0)]
    assert files.names(str(tmp_path)) == ("4",)


def test_deleting_removes_the_link_and_not_what_it_points_at(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("k")
    (root / "t").mkdir(parents=True)
    (root / "t" / "folder").symlink_to(outside)
    LocalFileIO(str(root)).delete(f"{root}/t", recursive=True)
    assert (outside / "kept").exists()
    assert not (root / "t").exists()


def test_a_root_that_is_a_link_itself_works(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path / "real")
    io = file_io_for(f"{tmp_path}/alias")
    io.write_bytes(f"{tmp_path}/alias/a", b"1")
    assert (tmp_path / "real" / "a").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ("/a/b", "/a/b"),
        ("file:/a/b", "/a/b"),
        ("file:///a%20b", "/a b"),
        ("file://localhost/a#b?c", "/a#b?c"),
        ("file:/a?b#c", "/a?b#c"),
    ],
)
def test_uris_name_local_paths(given: str, plain: str) -> None:
    assert local_path(given) == plain


@pytest.mark.parametrize("path", ["a/b", "file://host/a", "/a/../b", "/a\0", "file:/a/%2e%2e/b"])
def test_other_paths_are_refused(path: str) -> None:
    with pytest.raises(PathNotAllowedError):
        local_path(path)


def test_an_unknown_scheme_is_refused_by_name() -> None:
    with pytest.raises(PathNotAllowedError, match="'ftp'"):
        file_io_for("ftp://host/t")


@pytest.mark.parametrize(
    "name", ["", ".", "..", "a/b", "a\\b", "a\0b", "a\nb", "x" * 256, "\ud800"], ids=repr
)
def test_names_that_are_no_file_names_are_refused(name: str) -> None:
    with pytest.raises(PathNotAllowedError):
        check_name(name)
    with pytest.raises(PathNotAllowedError):
        join_path("/base", name)


def test_a_full_disk_is_reported_with_path_and_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    io = LocalFileIO(str(tmp_path))
    with pytest.raises(FileAccessError, match=r"No space left on device \(ENOSPC\)") as caught:
        io.write_new(f"{tmp_path}/a", b"x")
    assert not caught.value.may_have_happened
    assert os.listdir(tmp_path) == []


WRITES: dict[str, Callable[[LocalFileIO, str], object]] = {
    "write_new": lambda io, path: io.write_new(path, b"new" * 1000),
    "write_bytes": lambda io, path: io.write_bytes(path, b"new" * 1000),
}


class DyingSystem:
    """Counts the system calls of a write, and dies before the n-th and all after it."""

    CALLS = ("open", "write", "fsync", "link", "replace", "unlink")

    def __init__(self, patch: pytest.MonkeyPatch, die_at: int) -> None:
        self._die_at = die_at
        self._count = 0
        for call in self.CALLS:
            patch.setattr(os, call, self._dying(getattr(os, call)))

    def _dying(self, original: Callable[..., object]) -> Callable[..., object]:
        def run(*args: object, **kwargs: object) -> object:
            self._count += 1
            if self._count >= self._die_at:
                raise Killed
            return original(*args, **kwargs)

        return run


@pytest.mark.parametrize("name", sorted(WRITES))
def test_death_at_any_system_call_leaves_all_or_nothing(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill before the n-th system call for every n; leftovers have the temporary prefix."""
    point, survived = 0, False
    while not survived:
        point += 1
        folder = tmp_path / f"{point}"
        folder.mkdir()
        with monkeypatch.context() as patch:
            DyingSystem(patch, point)
            try:
                WRITES[name](LocalFileIO(str(folder)), str(folder / "file"))
                survived = True
            except Killed:
                pass
        for left in folder.iterdir():
            if left.name == "file":
                assert left.read_bytes() == b"new" * 1000
            else:
                assert left.name.startswith(TEMP_PREFIX)
    assert [f.name for f in folder.iterdir()] == ["file"]
    assert point > 5, "the system calls were counted"
