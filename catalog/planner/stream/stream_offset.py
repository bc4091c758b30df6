"""How far a stream has read a table; Spark stores this offset in the stream's checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass

from table_store.storage.file_store.model.errors import StreamSourceChangedError


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOffset:
    """Everything up to snapshot `version` is delivered.

    Attributes:
        table: its time of creation, because another table of the same name has another history.
        version: 0 before the first snapshot.
        is_before_all: whether nothing is delivered yet, so that the stream begins with a whole
            snapshot and not with the changes since `version`.
        parts: while the whole snapshot `version` is delivered in several batches, the number of
            its parts that are delivered; else None.
        part_bytes: size of these parts, which determines what each part holds.
    """

    table: int
    version: int
    is_before_all: bool = False
    parts: int | None = None
    part_bytes: int | None = None

    def to_text(self) -> str:
        """Return the JSON of the checkpoint; equal offsets have equal texts."""
        item = {"table": self.table, "version": self.version}
        if self.is_before_all:
            return json.dumps({**item, "beforeAll": True})
        if self.parts is not None:
            return json.dumps({**item, "parts": self.parts, "partBytes": self.part_bytes})
        return json.dumps(item)

    @classmethod
    def from_text(cls, text: str) -> StreamOffset:
        """Return the offset that `to_text` wrote.

        Raises:
            StreamSourceChangedError: the text is not an offset of this source.
        """
        try:
            item = json.loads(text)
            has_parts = "parts" in item
            return cls(
                table=int(item["table"]),
                version=int(item["version"]),
                is_before_all=bool(item.get("beforeAll", False)),
                parts=int(item["parts"]) if has_parts else None,
                part_bytes=int(item["partBytes"]) if has_parts else None,
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise StreamSourceChangedError(
                table="?", reason=f"its checkpoint holds no offset of a table: {text!r}"
            ) from error
