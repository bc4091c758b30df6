"""Looks at what names of tables stand for now, each once."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_store.catalog.names.found_name import FoundName
from table_store.storage.kernel.errors import TableStoreError


@dataclass(frozen=True, slots=True)
class NameLooks:
    """What names stood for at the first look."""

    _known: dict[tuple[str, FoundName], str | None] = field(default_factory=dict)

    def location(self, path: str, name: FoundName | None) -> str | None:
        """Return the directory that the table found at `path` has now, as `location_since`.

        What was not found by a name stays where it is. None also where nobody can tell: who looks
        the name up gets the reason.
        """
        if name is None:
            return path
        if (path, name) not in self._known:
            try:
                self._known[path, name] = name.location_since(path)
            except TableStoreError:
                self._known[path, name] = None
        return self._known[path, name]
