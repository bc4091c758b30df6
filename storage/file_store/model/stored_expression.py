"""An SQL expression of a table's definition, with what gives it its meaning."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import Json


@dataclass(frozen=True, slots=True)
class StoredExpression:
    """The text of a default, a computed column, a CHECK constraint or a watermark.

    Attributes:
        text: SQL, as the user wrote it.
        settings: of Spark, under which the text has its meaning. A setting that is absent has the
            default of Spark 4.2, and the time zone is UTC.
    """

    text: str
    settings: Mapping[str, str] = field(default_factory=FrozenMap)

    def __post_init__(self) -> None:
        if not isinstance(self.settings, FrozenMap):
            object.__setattr__(self, "settings", FrozenMap(self.settings))

    def __str__(self) -> str:
        return self.text

    def with_text(self, text: str) -> StoredExpression:
        """Return another text with the meaning that the same settings give it."""
        return replace(self, text=text)

    def settings_json(self, key: str) -> dict[str, Json]:
        """Return the settings as a member `key` of a JSON object; none if there are none."""
        return {key: dict(self.settings)} if self.settings else {}

    @classmethod
    def from_json(cls, text: Json, settings: Json) -> StoredExpression:
        """Return the expression of a text and of what `settings_json` wrote, or None.

        Raises:
            TypeError: the settings are no object.
        """
        if settings is not None and not isinstance(settings, Mapping):
            raise TypeError("settings are an object")
        return cls(str(text), {key: str(value) for key, value in (settings or {}).items()})
