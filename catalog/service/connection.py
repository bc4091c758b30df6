"""A connection that is closed when no whole request comes: nobody holds one by saying little."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS: Final = 5.0
"""So long the head of a request may take; a connection that rests is closed as soon."""


class BoundedProtocol(H11Protocol):
    """Uvicorn's protocol, which bounds only the rest between two requests."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self._end: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Go on waiting, or cease to when a request is whole."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cease to wait."""
        self._cease()
        super().connection_lost(exc)

    def _wait(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._cease()
        elif self._end is None:
            self._end = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _cease(self) -> None:
        if self._end is not None:
            self._end.cancel()
            self._end = None
