"""Which file system or object store a path or URI belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.local_file_io import LocalFileIO, local_path
from table_store.storage.file_io.object_file_io import SCHEMES, ObjectFileIO
from table_store.storage.file_io.path import check_segments
from table_store.storage.kernel.errors import PathNotAllowedError


def file_io_for(path: str, options: Mapping[str, str] | None = None) -> FileIO:
    """Return the file system of `path` (absolute, or a URI), rooted there.

    Nothing outside of `path` can be reached through it. `options` are for object stores.

    Raises:
        PathNotAllowedError: the path is relative or climbs, or its scheme is not supported, or
            it names no bucket.
    """
    try:
        parts = urlsplit(path)
    except ValueError as error:
        raise PathNotAllowedError(path=path, reason=f"it is no URI: {error}") from error
    scheme = parts.scheme if ":" in path.split("/", 1)[0] else ""
    if scheme in SCHEMES:
        check_segments(path)
        if not parts.netloc:
            raise PathNotAllowedError(path=path, reason=f"it names no bucket: {scheme}://bucket/…")
        return ObjectFileIO(path, tuple(sorted((options or {}).items())))
    if scheme not in ("", "file"):
        raise PathNotAllowedError(
            path=path,
            reason=f"scheme {scheme!r} is not supported; use an absolute path or one of file, "
            + ", ".join(SCHEMES),
        )
    return LocalFileIO(local_path(path))


def named_path(path: str) -> str:
    """Return the path by which files below `path` are named: what a `file:` URI stands for.

    Names that are appended to a URI would have to be escaped; a path takes them as they are.

    Raises:
        PathNotAllowedError: the URI names another host, or a path that is relative or climbs.
    """
    return local_path(path) if path.startswith("file:") else path
