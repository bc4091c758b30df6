"""Tables as they would be after an ALTER that is still to be checked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from table_store.storage.file_store.model.schema import TableSchema
from table_store.storage.kernel.frozen_map import FrozenMap

_NONE: Final[Mapping[str, TableSchema]] = FrozenMap()
_SUPPOSED: Final[ContextVar[Mapping[str, TableSchema]]] = ContextVar("supposed", default=_NONE)


@contextmanager
def supposed(schemas: Mapping[str, TableSchema]) -> Iterator[None]:
    """Let tables, by directory, be loaded as if they had these schemas.

    It counts for requests of this thread alone, which are those that its calls to the JVM cause.
    Their rows cannot be read, for no schema file has these ids.
    """
    token = _SUPPOSED.set(schemas)
    try:
        yield
    finally:
        _SUPPOSED.reset(token)


def supposed_schema(location: str) -> TableSchema | None:
    """The schema that the table in a directory is supposed to have; None if it is as it is."""
    return _SUPPOSED.get().get(location)
