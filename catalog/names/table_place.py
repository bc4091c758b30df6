"""Where the directory of a table may lie, and which file system reads and writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import (
    check_segments,
    holds_control_character,
    path_in_uri,
)
from table_store.storage.kernel.errors import PathNotAllowedError
from table_store.storage.kernel.frozen_map import FrozenMap

ALLOWED_ROOTS_SETTING: Final = "allowed-roots"
"""Setting of a catalog's static configuration: the folders below which `file.path` may lie."""

_FILE_SCHEME: Final = "file:"


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedPlaces:
    """The warehouse and the other places that the configuration allows.

    The file system of each place is rooted there, so that it refuses a symbolic link which leads
    out of the place.

    Attributes:
        root: of the warehouse, without a slash at the end.
        others: further roots, each with the file system rooted there.
    """

    root: str
    file_io: FileIO
    others: Mapping[str, FileIO] = field(default_factory=FrozenMap)

    def file_io_of(self, location: str) -> FileIO:
        """Return the file system of a table's directory.

        Raises:
            PathNotAllowedError: it lies below none of the allowed roots.
        """
        return self._place(plain_path(location))[1]

    def base_folder(self, path: str) -> str:
        """Return the folder that an option names, under which tables may be made.

        Raises:
            PathNotAllowedError: it lies below none of the allowed roots, or within a folder that a
                table or the warehouse itself uses.
        """
        plain = plain_path(path)
        root, _ = self._place(plain)
        for segment in plain[len(root) :].strip("/").split("/"):
            if segment.startswith(("_", ".")) or segment.endswith(".db") or "=" in segment:
                raise PathNotAllowedError(
                    path=path,
                    reason=f"{segment!r} looks like a folder of the warehouse or of a table",
                )
        return plain

    def own_folder(self, path: str) -> str:
        """Return the folder that a statement names for one table.

        Raises:
            PathNotAllowedError: see `base_folder`; or it is an allowed root itself.
        """
        plain = self.base_folder(path)
        if self.is_root(plain):
            raise PathNotAllowedError(
                path=path, reason="it has room for tables, and is none itself"
            )
        return plain

    def root_of(self, path: str) -> str | None:
        """Return the allowed root below which a folder lies, or which it is; None: there is none.

        Raises:
            PathNotAllowedError: the path is relative, climbs, or holds control characters.
        """
        plain = plain_path(path)
        for root in (self.root, *self.others):
            if plain == root or plain.startswith(root.rstrip("/") + "/"):
                return root
        return None

    def is_root(self, folder: str) -> bool:
        """Whether a folder, without a slash at its end, is one below which all tables lie."""
        return folder in (self.root, *(root.rstrip("/") or "/" for root in self.others))

    def stored(self, location: str) -> str:
        """Return a location as records keep it: inside of the warehouse it is relative."""
        inside = self.root + "/"
        return location[len(inside) :] if location.startswith(inside) else location

    def absolute(self, stored: str) -> str:
        """Return the location that `stored` was made from.

        Raises:
            PathNotAllowedError: it climbs out of the warehouse, so somebody has changed the record.
        """
        check_segments(stored)
        is_absolute = stored.startswith("/") or "://" in stored
        return stored if is_absolute else f"{self.root}/{stored}"

    def _place(self, plain: str) -> tuple[str, FileIO]:
        root = self.root_of(plain)
        if root is not None:
            return root, self.file_io if root == self.root else self.others[root]
        known = ", ".join(repr(root) for root in (self.root, *self.others))
        raise PathNotAllowedError(
            path=plain,
            reason=f"tables may lie below {known}; more can be allowed by the catalog's "
            f"{ALLOWED_ROOTS_SETTING!r} in the static configuration",
        )


def plain_path(path: str) -> str:
    """Return a path without scheme `file:` and without a slash at its end.

    Raises:
        PathNotAllowedError: it is relative, climbs, or holds control characters.
    """
    text = path_in_uri(path) if path.startswith(_FILE_SCHEME) else path
    check_segments(text)
    if holds_control_character(text):
        raise PathNotAllowedError(path=path, reason="it holds control characters")
    if not text.startswith("/") and "://" not in text:
        raise PathNotAllowedError(path=path, reason="it is not absolute")
    while "//" in text and "://" not in text:
        text = text.replace("//", "/")
    return text.rstrip("/") or "/"
