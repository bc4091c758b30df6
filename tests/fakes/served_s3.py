"""An S3 server in this process: moto, with a lock that makes its conditional put atomic.

Without the lock moto checks and puts in two steps, so that two writers could both win.
"""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

BUCKET: Final = "tables"


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asked: `query` is as in the URL."""

    method: str
    path: str
    query: str
    body_bytes: int


REQUESTS: Final[list[Request]] = []
"""All that clients asked so far, in order."""

REFUSED: Final[set[str]] = set()
"""Requests whose query contains one of these are refused."""


@cache
def start() -> tuple[tuple[str, str], ...]:
    """Start the server once for this process, and return the options of a client."""
    # Heavy, and only tests marked `object_store` need it.
    from moto.moto_server.werkzeug_app import (
        DomainDispatcherApplication,
        create_backend_app,
    )
    from werkzeug.serving import WSGIRequestHandler, make_server

    app, lock = DomainDispatcherApplication(create_backend_app), threading.Lock()

    class Quiet(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002
            """Keep requests out of the tests' output."""

    def one_at_a_time(environment: Any, respond: Callable[..., Any]) -> Iterable[bytes]:
        request = Request(
            method=environment["REQUEST_METHOD"],
            path=environment["PATH_INFO"],
            query=environment["QUERY_STRING"],
            body_bytes=int(environment.get("CONTENT_LENGTH") or 0),
        )
        with lock:
            REQUESTS.append(request)
            if any(text in request.query for text in REFUSED):
                environment["wsgi.input"].read(request.body_bytes)
                respond("403 Forbidden", [])
                return [b""]
            return [b"".join(app(environment, respond))]

    server = make_server("127.0.0.1", 0, one_at_a_time, threaded=True, request_handler=Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = {
        "access_key_id": "key",
        "allow_http": "true",
        "endpoint": f"http://127.0.0.1:{server.server_port}",
        "region": "us-east-1",
        "secret_access_key": "secret",
        "virtual_hosted_style_request": "false",
    }
    _ask(server.server_port, "PUT", f"/{BUCKET}")
    return tuple(sorted(options.items()))


def ask(method: str, url: str) -> str:
    """Return the server's answer to a request without content, which must not fail."""
    endpoint = urlsplit(dict(start())["endpoint"])
    assert endpoint.port is not None
    return _ask(endpoint.port, method, url)


def unfinished_uploads() -> str:
    """Return the server's list of multipart uploads that were neither completed nor aborted."""
    return ask("GET", f"/{BUCKET}?uploads")


def _ask(port: int, method: str, url: str) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(
        method,
        url,
        headers={"Authorization": "AWS4-HMAC-SHA256 Credential=key/20200101/us-east-1/s3/aws4"},
    )
    response = connection.getresponse()
    assert response.status == 200
    text = response.read().decode()
    connection.close()
    return text
