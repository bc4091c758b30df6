"""JSON files that tell when they are damaged: an object whose last entry is its checksum.

    {
      "version": 2,
      …
      "checksum": "0a1b2c3d"
    }

The digits are the CRC-32 of all bytes in front of the last 28, which are always the same but for
the digits. So a change of any byte is seen, white space included, and so is a file that was cut
off, lengthened or emptied. Files of version 1 have no checksum, and many no version either. A
damaged file does not pass as one of them, even where both its version and the name of its checksum
are hit: it ends with a text of eight characters all the same.
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
        build: takes the object; what it raises where that is not as it should be is damage.
        path: names the file in errors.
        version: the greatest one that `build` knows.
        noun: what the file holds, for errors.
        remedy: what to do about damage, where that is not to restore the table's file.

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
        # The text, as some errors have all of the content in their `repr`.
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
    """Whether the object ends with a checksum, if only with one whose name is damaged.

    No kind of file had a text of that length at its end in version 1.
    """
    last = next(reversed(item.values()), None)
    return "checksum" in item or (isinstance(last, str) and len(last) == _DIGITS)


def _trailer(body: bytes) -> bytes:
    return _TRAILER % zlib.crc32(body)
