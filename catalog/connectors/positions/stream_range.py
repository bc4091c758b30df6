"""A stream that Spark reads by itself, and who asks Spark about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamRange:
    """A stream of Spark's, and which of its rows.

    Attributes:
        identity: names the stream in one program.
        format: as `spark.readStream.format` takes it.
        options: of that format, with secrets.
        secret: which of them no message may show.
        checkpoint: a folder for what the stream keeps.
        start: the offset before the first row, as its source writes it; None: it is not fixed yet.
        end: the last offset that is known, or the one behind the last row; None: there is none.
    """

    identity: str
    format: str
    options: Mapping[str, str] = field(repr=False)
    secret: tuple[str, ...]
    checkpoint: str
    start: str | None = None
    end: str | None = None


class StreamLooks(Protocol):
    """Asks Spark about streams."""

    def look(self, stream: StreamRange) -> tuple[str, str | None]:
        """Return the offset before the first row, and the one behind those that are there now.

        Raises:
            ValueError: Spark cannot tell; the text says why.
        """

    def commit(self, stream: StreamRange) -> None:
        """Tell a stream that the rows before its `end` are never asked for again.

        Raises:
            ValueError: it cannot be told; the text says why.
        """
