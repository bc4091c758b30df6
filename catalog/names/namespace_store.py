"""Namespaces of a warehouse: one level, each a folder with a file of properties."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.errors import (
    NamespaceAlreadyExistsError,
    NamespaceNotFoundError,
    ProtectedNamespaceError,
)
from table_store.catalog.names.identifier import (
    DEFAULT_NAMESPACE,
    Identifier,
    check_namespace_name,
    name_key,
)
from table_store.catalog.names.name_registry import (
    NAMES_FOLDER,
    NAMESPACE_SUFFIX,
    namespace_folder,
)
from table_store.catalog.names.table_place import AllowedPlaces
from table_store.storage.file_io.file_io import FileIO
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import CorruptFileError, FileAccessError, MissingFileError
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.secrets import holds_secret

NAMESPACE_FILE: Final = "_namespace.json"
NAMESPACE_VERSION: Final = 2
_REMEDY: Final = (
    "Restore it from a copy; or delete it, create the namespace again and set its properties"
)

LOCATION_PROPERTY: Final = "location"
"""Property with the folder in which a namespace's tables are made; by default its own."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A namespace.

    Attributes:
        name: as written by the user.
        properties: those that the user gave, and the folder of its tables.
    """

    name: str
    properties: Mapping[str, str]

    @property
    def location(self) -> str:
        """The folder in which its tables are made."""
        return self.properties[LOCATION_PROPERTY]


def check_droppable(name: str) -> None:
    """Return quietly if a namespace of this name may be dropped.

    Raises:
        ProtectedNamespaceError: it is `default`.
    """
    if name_key(name) == name_key(DEFAULT_NAMESPACE):
        raise ProtectedNamespaceError(namespace=name)


@dataclass(frozen=True, slots=True)
class NamespaceStore:
    """The folders `<root>/<name>.db` and the `_namespace.json` in each.

    The file decides whether a namespace exists; `default` needs none.
    """

    places: AllowedPlaces

    def names(self) -> tuple[str, ...]:
        """Return the names of all namespaces, sorted without case; each costs a read of a file."""
        found = {name_key(DEFAULT_NAMESPACE): DEFAULT_NAMESPACE}
        for status in self._file_io.list(self._root):
            if not status.is_dir or not status.name.endswith(NAMESPACE_SUFFIX):
                continue
            namespace = self._read(join_path(status.path, NAMESPACE_FILE))
            if namespace is not None:
                found[name_key(namespace.name)] = namespace.name
        return tuple(found[key] for key in sorted(found))

    def find(self, name: str) -> Namespace | None:
        """Return the namespace of this name, in any case of letters, or None.

        Raises:
            CorruptFileError: its file is damaged, or is that of another namespace.
        """
        path = self._path(name)
        namespace = self._read(path)
        if namespace is not None and name_key(namespace.name) != name_key(name):
            reason = f"it holds the namespace {namespace.name}"
            raise CorruptFileError(path=path, reason=reason, remedy=_REMEDY)
        if namespace is None and name_key(name) == name_key(DEFAULT_NAMESPACE):
            namespace = Namespace(DEFAULT_NAMESPACE, FrozenMap())
        if namespace is None:
            return None
        given = namespace.properties.get(LOCATION_PROPERTY)
        own = namespace_folder(self._root, namespace.name)
        location = own if given is None else self.places.base_folder(given)
        properties = FrozenMap({**namespace.properties, LOCATION_PROPERTY: location})
        return Namespace(namespace.name, properties)

    def require(self, name: str) -> Namespace:
        """Return the namespace of this name.

        Raises:
            NamespaceNotFoundError: there is none.
        """
        namespace = self.find(name)
        if namespace is None:
            raise NamespaceNotFoundError(namespace=name)
        return namespace

    def qualified(self, identifier: Identifier) -> Identifier:
        """Return a name with its namespace as that was written when it was created.

        Raises:
            NamespaceNotFoundError: there is no such namespace.
        """
        return Identifier(self.require(identifier.namespace).name, identifier.name)

    def create(self, name: str, properties: Mapping[str, str]) -> None:
        """Create a namespace.

        Raises:
            InvalidIdentifierError: the name is not allowed.
            NamespaceAlreadyExistsError: it exists; `default` always does.
            PathNotAllowedError: its location lies outside of the allowed places.
        """
        check_namespace_name(name)
        self._check_location(properties)
        is_default = name_key(name) == name_key(DEFAULT_NAMESPACE)
        content = _to_bytes(Namespace(name, properties))
        path, private = self._path(name), holds_secret(properties)
        if is_default or not self._file_io.write_new(path, content, private=private):
            raise NamespaceAlreadyExistsError(namespace=name)

    def alter(self, name: str, *, changed: Mapping[str, str], removed: Collection[str]) -> None:
        """Set and remove properties.

        Raises:
            NamespaceNotFoundError: there is no such namespace.
            PathNotAllowedError: its location lies outside of the allowed places.
        """
        self._check_location(changed)
        path = self._path(name)
        namespace = self._read(path) or Namespace(self.require(name).name, FrozenMap())
        kept = {key: value for key, value in namespace.properties.items() if key not in removed}
        properties = {**kept, **changed}
        content = _to_bytes(Namespace(namespace.name, properties))
        self._file_io.write_bytes(path, content, private=holds_secret(properties))

    def drop(self, name: str) -> None:
        """Remove an empty namespace.

        Its folder stays if it is not empty: a table that was renamed into another namespace keeps
        its directory in here.

        Raises:
            ProtectedNamespaceError: it is `default`.
            NamespaceNotFoundError: there is no such namespace.
        """
        check_droppable(name)
        self.require(name)
        self._file_io.delete(self._path(name))
        folder = namespace_folder(self._root, name)
        try:
            self._file_io.delete(join_path(folder, NAMES_FOLDER))
            self._file_io.delete(folder)
        except FileAccessError:
            return

    @property
    def _file_io(self) -> FileIO:
        return self.places.file_io

    @property
    def _root(self) -> str:
        return self.places.root

    def _check_location(self, properties: Mapping[str, str]) -> None:
        if LOCATION_PROPERTY in properties:
            self.places.base_folder(properties[LOCATION_PROPERTY])

    def _path(self, name: str) -> str:
        return join_path(namespace_folder(self._root, name), NAMESPACE_FILE)

    def _read(self, path: str) -> Namespace | None:
        try:
            content = self._file_io.read_bytes(path)
        except MissingFileError:
            return None
        return from_checked_json(
            content,
            _namespace,
            path=path,
            version=NAMESPACE_VERSION,
            noun="namespace",
            remedy=_REMEDY,
        )


def _namespace(item: Mapping[str, Any]) -> Namespace:
    properties = {str(key): str(value) for key, value in item["properties"].items()}
    return Namespace(str(item["name"]), FrozenMap(properties))


def _to_bytes(namespace: Namespace) -> bytes:
    item = {"name": namespace.name, "properties": dict(namespace.properties)}
    return to_checked_json(item, version=NAMESPACE_VERSION)
