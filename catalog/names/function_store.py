"""The persistent functions of a warehouse, which Spark defines and runs: one small file a function.

The file is `<root>/<namespace>.db/_functions/<name>.json`; the function exists with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.errors import NamespaceNotFoundError
from table_store.catalog.names.identifier import Identifier, check_table_name, file_name_of
from table_store.catalog.names.name_registry import namespace_folder
from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.path import join_path
from table_store.storage.kernel.checked_json import from_checked_json, to_checked_json
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    CorruptFileError,
    FileAccessError,
    MissingFileError,
)

FUNCTIONS_FOLDER: Final = "_functions"
FUNCTION_VERSION: Final = 2
_REMEDY: Final = "Restore it from a copy; or delete it and create the function again"
_SUFFIX: Final = ".json"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionResource:
    """A jar, file or archive that a function needs; Spark keeps a SQL function's text so, too."""

    kind: str
    uri: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionDefinition:
    """A function as Spark's session catalog has it."""

    class_name: str
    resources: tuple[FunctionResource, ...] = ()


@dataclass(frozen=True, slots=True)
class FunctionStore:
    """The functions of all namespaces of one warehouse."""

    warehouse: Warehouse

    def names(self, namespace: str) -> tuple[str, ...]:
        """Return the names of a namespace's functions, sorted; each costs a read of a file."""
        folder = join_path(namespace_folder(self.warehouse.root, namespace), FUNCTIONS_FOLDER)
        found = (
            self._read(status.path)
            for status in self.warehouse.file_io.list(folder)
            if status.name.endswith(_SUFFIX) and not status.name.startswith(".")
        )
        return tuple(sorted(name.name for name, _ in filter(None, found)))

    def find(self, identifier: Identifier) -> FunctionDefinition | None:
        """Return the function of this name, in any case of letters, or None.

        Raises:
            CorruptFileError: its file is damaged, or is that of another function.
        """
        path = self._path(identifier)
        found = self._read(path)
        if found is None:
            return None
        name, definition = found
        if name.key != identifier.key:
            reason = f"it holds the function {name}"
            raise CorruptFileError(path=path, reason=reason, remedy=_REMEDY)
        return definition

    def define(
        self, identifier: Identifier, definition: FunctionDefinition, *, is_new: bool
    ) -> None:
        """Create a function, or replace the one of this name.

        Raises:
            InvalidIdentifierError: the name is not allowed.
            NamespaceNotFoundError: there is no such namespace.
            AlreadyExistsError: it is to be new, and the name is taken.
        """
        check_table_name(identifier.name)
        if self.warehouse.find_namespace(identifier.namespace) is None:
            raise NamespaceNotFoundError(namespace=identifier.namespace)
        path, content = self._path(identifier), _to_bytes(identifier, definition)
        if not is_new:
            self.warehouse.file_io.write_bytes(path, content)
        elif not self.warehouse.file_io.write_new(path, content):
            raise AlreadyExistsError(kind="function", name=str(identifier))

    def drop(self, identifier: Identifier) -> bool:
        """Remove a function; return whether there was one."""
        is_there = self.find(identifier) is not None
        self.warehouse.file_io.delete(self._path(identifier))
        return is_there

    def drop_folder(self, namespace: str) -> None:
        """Remove what is left of a namespace that has no functions, and will be dropped."""
        folder = join_path(namespace_folder(self.warehouse.root, namespace), FUNCTIONS_FOLDER)
        try:
            self.warehouse.file_io.delete(folder)
        except FileAccessError:
            return

    def _path(self, identifier: Identifier) -> str:
        folder = namespace_folder(self.warehouse.root, identifier.namespace)
        return join_path(folder, FUNCTIONS_FOLDER, file_name_of(identifier.name) + _SUFFIX)

    def _read(self, path: str) -> tuple[Identifier, FunctionDefinition] | None:
        try:
            content = self.warehouse.file_io.read_bytes(path)
        except MissingFileError:
            return None
        return from_checked_json(
            content,
            _function,
            path=path,
            version=FUNCTION_VERSION,
            noun="function",
            remedy=_REMEDY,
        )


def _function(item: Mapping[str, Any]) -> tuple[Identifier, FunctionDefinition]:
    resources = tuple(
        FunctionResource(kind=str(kind), uri=str(uri)) for kind, uri in item["resources"]
    )
    definition = FunctionDefinition(class_name=str(item["className"]), resources=resources)
    return Identifier(str(item["namespace"]), str(item["name"])), definition


def _to_bytes(identifier: Identifier, definition: FunctionDefinition) -> bytes:
    item = {
        "namespace": identifier.namespace,
        "name": identifier.name,
        "className": definition.class_name,
        "resources": [[resource.kind, resource.uri] for resource in definition.resources],
    }
    return to_checked_json(item, version=FUNCTION_VERSION)
