"""Who may ask, and how much: the layer around all of the service's paths."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from table_store.catalog.service.failures import failed_response
from table_store.catalog.service.service_errors import InvalidRequestError, UnauthorizedError
from table_store.storage.kernel.errors import TableStoreError
from table_store.storage.kernel.frozen_map import FrozenMap

QUERY_BYTES_MAX: Final = 8192
LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'"
)
_HEADERS: Final[Mapping[str, str]] = FrozenMap(
    {
        "Content-Security-Policy": _POLICY,
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }
)


class Guard:
    """Refuses what may not be asked, and adds the headers by which browsers are careful.

    Attributes:
        application: answers what is let through.
        token: that requests must bear; None if everybody may ask.
        hosts: under which names the service is asked; None if under any. A page elsewhere whose
            name was made to lead to this machine has another one.
        open_paths: tell nothing of the warehouse, and need no token.
        orders: paths that change something. They are asked by POST, and only a service with a token
            answers: a page elsewhere cannot have a browser send a header that it does not know.
    """

    def __init__(
        self,
        application: ASGIApp,
        *,
        token: str | None,
        hosts: frozenset[str] | None,
        open_paths: frozenset[str],
        orders: frozenset[str] = frozenset(),
    ) -> None:
        self.application = application
        self.hosts = hosts
        self.open_paths = open_paths
        self.orders = orders
        self._token = None if token is None else _digest(token)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":  # no web sockets; a start and an end need nothing
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers[name] = value
                message["headers"] = headers.raw
            await send(message)

        try:
            self._check(scope)
        except TableStoreError as error:
            await failed_response(error, scope["path"])(scope, receive, send_with_headers)
            return
        await self.application(scope, receive, send_with_headers)

    def _check(self, scope: Scope) -> None:
        headers = Headers(scope=scope)
        if self.hosts is not None and _host_name(headers.get("host", "")) not in self.hosts:
            names = ", ".join(sorted(self.hosts))
            raise InvalidRequestError(
                part="header Host", reason=f"the service is known as {names} alone", status=421
            )
        is_order = scope["path"] in self.orders
        if is_order and self._token is None:
            reason = "only a service that was started with --token-file takes orders"
            raise InvalidRequestError(part="path", reason=reason, status=403)
        if not is_order and scope["method"] not in ("GET", "HEAD"):
            raise InvalidRequestError(part="method", reason="use GET", status=405)
        if len(scope["query_string"]) > QUERY_BYTES_MAX:
            reason = f"it has more than {QUERY_BYTES_MAX} bytes"
            raise InvalidRequestError(part="query", reason=reason, status=414)
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            raise InvalidRequestError(part="body", reason="send none", status=413)
        if self._token is not None and scope["path"] not in self.open_paths:
            kind, _, given = headers.get("authorization", "").partition(" ")
            is_known = hmac.compare_digest(_digest(given.strip()), self._token)
            if kind.lower() != "bearer" or not is_known:
                raise UnauthorizedError
        if is_order and scope["method"] != "POST":
            raise InvalidRequestError(part="method", reason="use POST", status=405)


def _digest(token: str) -> bytes:
    # Digests have one length, so a comparison does not even tell that of the token.
    return hashlib.sha256(token.encode()).digest()


def _host_name(host: str) -> str:
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
