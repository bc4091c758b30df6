"""The catalog that a request is about, and a name in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReference:
    """A catalog with its configuration in the session.

    Attributes:
        name: the name under which the catalog is configured.
        options: the catalog's configuration, and the session's default warehouse folder.
        allowed_roots: folders besides the warehouse in which tables may lie, separated by commas;
            only the application's configuration can set them.
        only_temporary: whether only temporary tables are to be found.
    """

    name: str
    options: Mapping[str, str]
    allowed_roots: str
    only_temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationReference:
    """A name in a catalog, of any kind of object and with any number of namespace levels."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
    name: str

    @property
    def identifier(self) -> Identifier | None:
        """The identifier of a table or view; None if the namespace has several levels."""
        namespace = one_level(self.namespace)
        return None if namespace is None else Identifier(namespace, self.name)

    @property
    def text(self) -> str:
        """The name as messages show it, without the catalog."""
        return ".".join([*self.namespace, self.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeType:
    """The column of an INSERT's query that holds each row's change type.

    The bridge appends it to the name of the INSERT's table. `at` is its position among the query's
    columns; these exclude the `static` columns, whose values PARTITION (column = value) gives.
    """

    column: str
    at: int
    static: tuple[str, ...]


def one_level(namespace: tuple[str, ...]) -> str | None:
    """Return the one level of a namespace, the default one if empty; None for several levels."""
    levels = namespace or (DEFAULT_NAMESPACE,)
    return levels[0] if len(levels) == 1 else None
