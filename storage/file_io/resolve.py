"""Which file system a path or URI belongs to."""

from __future__ import annotations

from urllib.parse import urlsplit

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO, local_path
from table_store.storage.kernel.errors import PathNotAllowedError


def file_io_for(path: str) -> FileIO:
    """Return the file system of `path` (absolute, or a `file:` URI), rooted there.

    Nothing outside of `path` can be reached through it.

    Raises:
        PathNotAllowedError: the path is relative or climbs, or its scheme is not supported.
    """
    scheme = urlsplit(path).scheme if ":" in path.split("/", 1)[0] else ""
    if scheme not in ("", "file"):
        raise PathNotAllowedError(
            path=path, reason=f"scheme {scheme!r} is not supported; use an absolute path or file:"
        )
    return LocalFileIO(local_path(path))
