"""What a request is answered that fails: the error as JSON, with the status that fits."""

from __future__ import annotations

import logging
from typing import Final

from starlette.responses import Response

from table_store.catalog.errors import InvalidIdentifierError, WrongRelationKindError
from table_store.catalog.jobs.job_errors import JobOrderError, NoCommonBarrierError
from table_store.catalog.service.json_values import to_bytes
from table_store.catalog.service.models import Failure, FailureAnswer
from table_store.catalog.service.service_errors import (
    InvalidRequestError,
    ServiceBusyError,
    ServiceFaultError,
    ServiceTimeoutError,
    UnauthorizedError,
)
from table_store.storage.kernel.errors import (
    FileAccessError,
    InvalidOptionError,
    NotFoundError,
    TableStoreError,
)

_STATUS: Final[tuple[tuple[type[TableStoreError], int], ...]] = (
    (UnauthorizedError, 401),
    (ServiceBusyError, 503),
    (ServiceTimeoutError, 504),
    (NotFoundError, 404),
    (InvalidIdentifierError, 400),
    (WrongRelationKindError, 400),
    (InvalidOptionError, 400),
    (NoCommonBarrierError, 409),
    (JobOrderError, 409),
    (FileAccessError, 503),
)

_log = logging.getLogger(__name__)


def failed_response(error: Exception, path: str) -> Response:
    """Return the answer to a request for `path` that failed; what is a defect is logged."""
    if not isinstance(error, TableStoreError):
        _log.error("a request for %r failed", path, exc_info=error)
        error = ServiceFaultError(kind=type(error).__name__, path=path)
    status = _status_of(error)
    failure = Failure(
        condition=error.condition,
        message=error.message,
        sql_state=error.sql_state,
        retriable=error.retriable,
    )
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if error.retriable:
        headers["Retry-After"] = "1"
    return Response(
        to_bytes(FailureAnswer(error=failure)), status, headers, media_type="application/json"
    )


def _status_of(error: TableStoreError) -> int:
    if isinstance(error, InvalidRequestError):
        return error.status
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
