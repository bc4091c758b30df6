"""The OpenAPI document of the service, from its endpoints and the classes of their answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from table_store.catalog.service.endpoints import Endpoint
from table_store.catalog.service.json_values import reference, schemas_of
from table_store.catalog.service.models import FailureAnswer

OPENAPI_VERSION = "3.1.0"
API_VERSION = "1"


def openapi_document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """Return the document, as JSON."""
    schemas = schemas_of(FailureAnswer)
    paths = {}
    for endpoint in endpoints:
        schemas |= schemas_of(endpoint.answer)
        method = "post" if endpoint.is_order else "get"
        paths[endpoint.path] = {method: _operation(endpoint)}
    return {
        "openapi": OPENAPI_VERSION,
        "info": {
            "title": "MetaService of a Spark Table Store",
            "version": API_VERSION,
            "description": "Barriers, tables and jobs of a warehouse. Times are milliseconds since "
            "1970 UTC, durations milliseconds.",
        },
        "security": [{}, {"token": []}],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    name = endpoint.path.removeprefix("/v1/").replace("/", "-")
    return {
        "operationId": name,
        "summary": endpoint.summary,
        "parameters": [parameter.to_openapi() for parameter in endpoint.parameters],
        "responses": {
            "200": _response(endpoint.answer, endpoint.summary),
            "default": _response(FailureAnswer, "Why there is no answer."),
        },
    }


def _response(kind: type, description: str) -> dict[str, Any]:
    return {
        "description": description,
        "content": {"application/json": {"schema": reference(kind)}},
    }
