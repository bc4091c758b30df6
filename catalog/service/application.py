"""The service as an ASGI application: its paths, each answered from one look at the warehouse."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.service.answers import Answers
from table_store.catalog.service.endpoints import ENDPOINTS, Endpoint
from table_store.catalog.service.failures import failed_response
from table_store.catalog.service.guard import Guard
from table_store.catalog.service.json_values import to_bytes
from table_store.catalog.service.metrics import METRICS_TYPE, Metrics
from table_store.catalog.service.observation import Observer
from table_store.catalog.service.openapi import openapi_document
from table_store.catalog.service.page import PageFile, page_files
from table_store.catalog.service.query import Query
from table_store.catalog.service.service_errors import InvalidRequestError
from table_store.catalog.service.workers import Workers
from table_store.storage.kernel.errors import NotFoundError, TableStoreError

_JSON: Final = "application/json"
_PROBES: Final = frozenset({"/health", "/ready"})

_log = logging.getLogger(__name__)


def application_of(
    warehouse: Warehouse,
    *,
    token: str | None = None,
    hosts: frozenset[str] | None = None,
    workers: Workers | None = None,
) -> Guard:
    """Return the service of a warehouse; `token` and `hosts` are as for `Guard`."""
    observer = Observer(warehouse)
    workers = workers or Workers()
    answers = Answers(observer, workers)
    files = page_files()
    document = json.dumps(openapi_document(ENDPOINTS)).encode()
    metrics = Metrics(observer)
    routes = [
        *(_asked(endpoint, observer, answers, workers) for endpoint in ENDPOINTS),
        *(_route(path, _file(file)) for path, file in files.items()),
        _route("/openapi.json", _file(PageFile(document, _JSON))),
        _route("/metrics", _metrics(metrics, answers)),
        _route("/health", _file(PageFile(b'{"status":"up"}', _JSON))),
        _route("/ready", _readiness(observer, answers)),
    ]
    starlette = Starlette(routes=routes, exception_handlers={HTTPException: _no_such_path})
    open_paths = _PROBES | files.keys()
    orders = frozenset(endpoint.path for endpoint in ENDPOINTS if endpoint.is_order)
    return Guard(starlette, token=token, hosts=hosts, open_paths=open_paths, orders=orders)


_Handler = Callable[[Request], Awaitable[Response]]


def _asked(endpoint: Endpoint, observer: Observer, answers: Answers, workers: Workers) -> Route:
    if endpoint.is_order:
        return _route(endpoint.path, _ordered(endpoint, observer, workers), "POST")
    return _route(endpoint.path, _told(endpoint, observer, answers))


def _route(path: str, handler: _Handler, method: str = "GET") -> Route:
    async def safe(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:  # noqa: BLE001  the edge of the process
            return failed_response(error, request.url.path)

    return Route(path, safe, methods=[method])


def _told(endpoint: Endpoint, observer: Observer, answers: Answers) -> _Handler:
    async def handler(request: Request) -> Response:
        query = Query.of(request.query_params.multi_items(), endpoint.parameters)
        content = await answers.get(
            str(request.url), lambda: to_bytes(endpoint.tell(observer.now(), query))
        )
        return Response(content, media_type=_JSON)

    return handler


def _ordered(endpoint: Endpoint, observer: Observer, workers: Workers) -> _Handler:
    async def handler(request: Request) -> Response:
        query = Query.of(request.query_params.multi_items(), endpoint.parameters)
        content = await workers.run(lambda: to_bytes(endpoint.tell(observer.now(), query)))
        return Response(content, media_type=_JSON)

    return handler


def _file(file: PageFile) -> _Handler:
    async def handler(_: Request) -> Response:
        return Response(file.content, media_type=file.media_type)

    return handler


def _metrics(metrics: Metrics, answers: Answers) -> _Handler:
    async def handler(_: Request) -> Response:
        return Response(await answers.get("/metrics", metrics.to_bytes), media_type=METRICS_TYPE)

    return handler


def _readiness(observer: Observer, answers: Answers) -> _Handler:
    def look() -> bytes:
        observer.now()
        return b'{"status":"ready"}'

    async def handler(_: Request) -> Response:
        try:
            return Response(await answers.get("/ready", look), media_type=_JSON)
        except TableStoreError as error:  # what it says is not for everybody
            _log.warning("not ready: %s", error)
            return Response(b'{"status":"not ready"}', 503, media_type=_JSON)

    return handler


async def _no_such_path(request: Request, error: Exception) -> Response:
    path = request.url.path[:200]
    if isinstance(error, HTTPException) and error.status_code != 404:
        refused = InvalidRequestError(part="form", reason=error.detail, status=error.status_code)
        return failed_response(refused, path)
    return failed_response(NotFoundError(kind="path", name=path), path)
