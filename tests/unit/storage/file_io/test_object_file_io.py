"""Goal: a large object goes to its store in parts; never is much of it in memory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from table_store.storage.file_io.object_file_io import ObjectFileIO
from table_store.storage.kernel.errors import FileAccessError
from tests.fakes import served_s3
from tests.fakes.served_s3 import REFUSED, REQUESTS, Request

pytestmark = pytest.mark.object_store

MIB = 1 << 20
PART_BYTES = 8 * MIB
WHOLE_BYTES_MAX = 16 * MIB


@pytest.fixture
def root(tmp_path: Path) -> Iterator[str]:
    REQUESTS.clear()
    yield f"s3://{served_s3.BUCKET}/{tmp_path.name}"
    REFUSED.clear()


def write(root: str, size_bytes: int) -> str:
    path = f"{root}/data"
    output = ObjectFileIO(root, served_s3.start()).create_output(path)
    for start in range(0, size_bytes, MIB):
        output.write(b"x" * min(MIB, size_bytes - start))
    output.close()
    return path


def bodies() -> list[Request]:
    return [request for request in REQUESTS if request.method == "PUT" and request.body_bytes]


def test_parts_are_read_and_sent_one_by_one(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []

    class Watched(tempfile.SpooledTemporaryFile[bytes]):
        def read(self, *size: Any) -> bytes:
            data = super().read(*size)
            reads.append(len(data))
            return data

    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Watched)
    path = write(root, 5 * PART_BYTES + 1)
    assert max(reads) == PART_BYTES
    assert sorted(request.body_bytes for request in bodies()) == [1, *[PART_BYTES] * 5]
    assert ObjectFileIO(root, served_s3.start()).size(path) == 5 * PART_BYTES + 1
    assert "<Upload>" not in served_s3.unfinished_uploads()


@pytest.mark.parametrize(("size_bytes", "puts"), [(WHOLE_BYTES_MAX, 1), (WHOLE_BYTES_MAX + 1, 3)])
def test_an_object_that_is_not_large_is_one_request(root: str, size_bytes: int, puts: int) -> None:
    write(root, size_bytes)
    assert len(bodies()) == puts
    assert len(REQUESTS) == (1 if puts == 1 else puts + 3), "a look, a beginning and an end"


def test_a_refused_part_leaves_nothing(root: str) -> None:
    REFUSED.add("partNumber=3")
    with pytest.raises(FileAccessError):
        write(root, 4 * PART_BYTES)
    REFUSED.clear()
    assert not ObjectFileIO(root, served_s3.start()).exists(f"{root}/data")
    assert "<Upload>" not in served_s3.unfinished_uploads()
    assert any(request.method == "DELETE" for request in REQUESTS)


def test_what_marks_a_folder_as_made_is_no_file(root: str) -> None:
    """Consoles put an empty object `folder/`, and the client hides its slash."""
    file_io = ObjectFileIO(root, served_s3.start())
    file_io.write_bytes(f"{root}/a/file", b".")
    file_io.write_bytes(f"{root}/empty", b"")
    for folder in ("a", "b"):
        served_s3.ask("PUT", f"/{root.removeprefix('s3://')}/{folder}/")
    assert [status.name for status in file_io.list(f"{root}/a")] == ["file"]
    assert file_io.list(f"{root}/b") == ()
    below = file_io.list_below(root)
    assert below is not None
    assert sorted(status.path for status in below) == [f"{root}/a/file", f"{root}/empty"]
