"""JSON files that tell when they are damaged: an object whose last entry is its checksum.

    {
      "version": 2,
      …
      "checksum": "0a1b2c3d"
    }

The digits are the CRC-32 of all bytes in front of the last 28, which are always the same except
for the digits. So a change of any byte shows, white space included, and so does a file that was
cut off, lengthened or emptied. Files of version 1 have no checksum, and many have no version
either. A damaged file does not pass as one of them, even if the damage hit both its version and
the name of its checksum, because it still ends with a text of eight characters.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from table_store.storage.kernel.errors import (
    CorruptFileError,
    FormatVersionError,
    TableStoreError,
)

UNCHECKED_VERSION: Final = 1
"""The format version of files without checksum, of every kind."""

_CLOSING: Final = "\n}"
_TRAILER: Final = b',\n  "checksum": "%08x"\n}'
_TRAILER_SIZE: Final = len(_TRAILER % 0)
_DIGITS: Final = 8

_NOT_AS_WRITTEN: Final = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TableStoreError,
    TypeError,
    ValueError,
)

T = TypeVar("T")


def to_checked_json(item: Mapping[str, object], *, version: int) -> bytes:
    """Return the content of a file that holds `item` and the format version of its kind."""
    text = json.dumps({"version": version, **item}, indent=2, ensure_ascii=False)
    body = text.removesuffix(_CLOSING).encode("utf-8", "surrogatepass")
    return body + _trailer(body)


def from_checked_json(
    data: bytes,
    build: Callable[[dict[str, Any]], T],
    *,
    path: str,
    version: int,
    noun: str,
    remedy: str | None = None,
) -> T:
    """Return what `build` makes of the object in a file.

    Args:
        data: the content, from `to_checked_json` or of version 1.
        build: takes the object; whatever it raises for a wrong object counts as damage.
        path: names the file in errors.
        version: the greatest one that `build` knows.
        noun: what the file holds, for errors.
        remedy: what to do about damage, if something else than to restore the table's file.

    Raises:
        CorruptFileError: it is not what was written.
        FormatVersionError: a newer version of the table store wrote it.
    """
    is_checked = data.endswith(_trailer(data[:-_TRAILER_SIZE]))
    try:
        item = json.loads(data.decode("utf-8", "surrogatepass"))
        found = _version_of(item)
        is_whole = is_checked or (found == UNCHECKED_VERSION and not _had_checksum(item))
        if is_whole and found <= version:
            return build(item)
    except _NOT_AS_WRITTEN as error:
        # The error's text and not its `repr`, which may hold all of the content.
        reason = f"not a {noun} ({type(error).__name__}: {error})"
        raise CorruptFileError(path=path, reason=reason, remedy=remedy) from error
    if is_whole:
        raise FormatVersionError(path=path, found=found, supported=version)
    reason = "its checksum does not match: changed or cut off"
    raise CorruptFileError(path=path, reason=reason, remedy=remedy)


def _version_of(item: object) -> int:
    if not isinstance(item, dict):
        raise ValueError("it is not an object")
    found = item.get("version", UNCHECKED_VERSION)
    if type(found) is not int or found < UNCHECKED_VERSION:
        raise ValueError(f"its version is {found!r}")
    return found


def _had_checksum(item: dict[str, object]) -> bool:
    """Whether the object ends with a checksum, even with one whose name is damaged.

    In version 1 no kind of file ended with a text of that length.
    """
    last = next(reversed(item.values()), None)
    return "checksum" in item or (isinstance(last, str) and len(last) == _DIGITS)


def _trailer(body: bytes) -> bytes:
    return _TRAILER % zlib.crc32(body)
