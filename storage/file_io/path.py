"""Joining names to paths so that no name can lead out of its folder."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

from table_store.storage.kernel.errors import PathNotAllowedError

NAME_BYTES_MAX: Final = 255
"""Longest file name that common file systems take."""

_CONTROL: Final = re.compile("[\x00-\x1f\x7f]")


def join_path(base: str, *names: str) -> str:
    """Return `base/name/name…`, where each name is one plain file or folder name.

    Raises:
        PathNotAllowedError: a name is empty, `.`, `..`, holds a slash, NUL or another control
            character, or is longer than `NAME_BYTES_MAX` bytes in UTF-8.
    """
    for name in names:
        check_name(name)
    return "/".join((base.rstrip("/"), *names))


def check_name(name: str) -> None:
    """Refuse what is not one plain file name.

    Raises:
        PathNotAllowedError: see `join_path`.
    """
    if not name or name in (".", ".."):
        raise PathNotAllowedError(path=name, reason="this is no file name")
    if "/" in name or "\\" in name:
        raise PathNotAllowedError(path=name, reason="a file name holds no slash")
    if holds_control_character(name):
        raise PathNotAllowedError(path=name, reason="a file name holds no control characters")
    try:
        size_bytes = len(name.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise PathNotAllowedError(path=repr(name), reason="it is not valid Unicode") from error
    if size_bytes > NAME_BYTES_MAX:
        raise PathNotAllowedError(
            path=name[:60] + "…", reason=f"a file name has at most {NAME_BYTES_MAX} bytes"
        )


def holds_control_character(text: str) -> bool:
    """Whether a text has one of the characters that no name may have."""
    return _CONTROL.search(text) is not None


def check_segments(path: str) -> None:
    """Refuse a full path that climbs (`..`) or holds NUL.

    Raises:
        PathNotAllowedError: it does.
    """
    if "\0" in path:
        raise PathNotAllowedError(path=path, reason="it holds NUL")
    if ".." in path and ".." in path.split("/"):
        raise PathNotAllowedError(path=path, reason="it climbs with '..'")


def path_in_uri(uri: str) -> str:
    """Return the path in a `file:` URI, in which `#` and `?` are part of names, as in Hadoop's.

    Raises:
        PathNotAllowedError: it names another host.
    """
    path = uri.removeprefix("file:")
    if path.startswith("//"):
        host, slash, below = path[2:].partition("/")
        if host not in ("", "localhost"):
            raise PathNotAllowedError(path=uri, reason="it names another host")
        path = slash + below
    return unquote(path)


def base_name(path: str) -> str:
    """Return the last name of a path."""
    return path.rstrip("/").rsplit("/", 1)[-1]


def parent_path(path: str) -> str:
    """Return the folder that holds what is at a path, which has no slash at its end."""
    return path.rpartition("/")[0] or "/"
