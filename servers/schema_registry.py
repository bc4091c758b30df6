"""A schema registry of this process, on the loopback: what of Confluent's REST API clients need."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any
from urllib.parse import unquote

from fastavro.schema import SchemaParseException, parse_schema

_CONTENT = "application/vnd.schemaregistry.v1+json"
_NO_SUBJECT = (404, 40401, "Subject not found.")
_NO_VERSION = (404, 40402, "Version not found.")
_NO_SCHEMA = (404, 40403, "Schema not found")
_NO_AVRO = (422, 42201, "Invalid schema")
_UNAUTHORIZED = (401, 40101, "Unauthorized")

Answer = dict[str, Any] | tuple[int, int, str]


@dataclass
class SchemaRegistryServer:
    """Schemas, each with one id, and the versions of subjects.

    Attributes:
        schemas: those with the ids from 1 on, as they are answered.
        subjects: the ids of a subject's versions.
        needs: what the header `Authorization` has to be; None: nothing.
        failures: how many of the next requests are answered with an error of the server.
        requests: methods and paths of all requests.
    """

    schemas: list[dict[str, Any]] = field(default_factory=list)
    subjects: dict[str, list[int]] = field(default_factory=dict)
    needs: str | None = None
    failures: int = 0
    requests: list[str] = field(default_factory=list)
    lock: Lock = field(default_factory=Lock)
    url: str = ""

    def add(self, subject: str, schema: object, **more: object) -> int:
        """Register a schema, as JSON or as what that stands for; return its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        with self.lock:
            return self._registered(subject, {"schema": text, **more})

    def require_user(self, user: str, password: str) -> None:
        """Let nobody else in from now on."""
        self.needs = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def answer(self, method: str, path: str, headers: Any, content: bytes) -> Answer:
        """Return what a request is answered: an object, or a status, a code and a message."""
        with self.lock:
            self.requests.append(f"{method} {path}")
            if self.failures:
                self.failures -= 1
                return 503, 50301, "Not now"
            if self.needs is not None and headers.get("Authorization") != self.needs:
                return _UNAUTHORIZED
            parts = [unquote(part) for part in path.strip("/").split("/")]
            match method, parts:
                case "GET", ["schemas", "ids", number]:
                    there = 0 < int(number) <= len(self.schemas)
                    return self.schemas[int(number) - 1] if there else _NO_SCHEMA
                case "GET", ["subjects", subject, "versions", version]:
                    ids = self.subjects.get(subject, [])
                    if not 0 < int(version) <= len(ids):
                        return _NO_VERSION
                    return {"subject": subject, **self.schemas[ids[int(version) - 1] - 1]}
                case "POST", ["subjects", subject, "versions"]:
                    return self._posted(subject, json.loads(content))
                case "POST", ["subjects", subject]:
                    return self._looked_up(subject, json.loads(content))
        return 404, 404, "HTTP 404 Not Found"

    def _posted(self, subject: str, given: dict[str, Any]) -> Answer:
        try:
            parse_schema(json.loads(given["schema"]), named_schemas={})
        except (ValueError, SchemaParseException):
            return _NO_AVRO
        return {"id": self._registered(subject, given)}

    def _looked_up(self, subject: str, given: dict[str, Any]) -> Answer:
        if subject not in self.subjects:
            return _NO_SUBJECT
        for number in self.subjects[subject]:
            known = json.loads(self.schemas[number - 1]["schema"])
            if known == json.loads(given["schema"]):
                return {"subject": subject, "id": number, **self.schemas[number - 1]}
        return _NO_SCHEMA

    def _registered(self, subject: str, given: dict[str, Any]) -> int:
        if given not in self.schemas:
            self.schemas.append(given)
        number = self.schemas.index(given) + 1
        ids = self.subjects.setdefault(subject, [])
        if number not in ids:
            ids.append(number)
        return number


@contextmanager
def running_registry(
    port: int = 0,
    registry: SchemaRegistryServer | None = None,
    context: ssl.SSLContext | None = None,
) -> Iterator[SchemaRegistryServer]:
    """Run a registry, an empty one if none is given, on any free port.

    With a `context` it is reached by HTTPS alone.
    """
    found = SchemaRegistryServer() if registry is None else registry

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            self._answer(self.rfile.read(int(self.headers["Content-Length"])))

        def _answer(self, content: bytes) -> None:
            answer = found.answer(self.command, self.path, self.headers, content)
            status = 200
            if not isinstance(answer, dict):
                status, code, message = answer
                answer = {"error_code": code, "message": message}
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", _CONTENT)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Say nothing of a client that goes, or that trusts somebody else."""

    server = Server(("127.0.0.1", port), Handler)
    scheme = "http"
    if context is not None:
        # Each connection shakes hands in the thread that answers it.
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
        scheme = "https"
    found.url = f"{scheme}://127.0.0.1:{server.server_address[1]}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
