"""Which catalog a request is sent for, and what in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE, Identifier


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogReference:
    """A catalog as the session has it configured.

    Attributes:
        name: by which it is configured.
        options: of its configuration, and the session's folder of warehouses.
        allowed_roots: where tables may lie besides the warehouse, separated by commas; of the
            application's configuration alone.
        only_temporary: whether temporary tables alone are asked for.
    """

    name: str
    options: Mapping[str, str]
    allowed_roots: str
    only_temporary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationReference:
    """A name in a catalog, whatever it stands for; also one with another number of levels."""

    catalog: CatalogReference
    namespace: tuple[str, ...]
    name: str

    @property
    def identifier(self) -> Identifier | None:
        """The table or view that it can be the name of; None for a namespace of several levels."""
        namespace = one_level(self.namespace)
        return None if namespace is None else Identifier(namespace, self.name)

    @property
    def text(self) -> str:
        """The name as messages have it, without the catalog."""
        return ".".join([*self.namespace, self.name])


def one_level(namespace: tuple[str, ...]) -> str | None:
    """Return the name of a namespace, the default one for none; None where it has several."""
    levels = namespace or (DEFAULT_NAMESPACE,)
    return levels[0] if len(levels) == 1 else None
