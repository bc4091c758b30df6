"""Goal: what goes wrong inside of the planner is told in one line that names the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pyspark.errors.exceptions.captured import CapturedException

from table_store.catalog.planner.process.endpoint import PlannerEndpoint
from table_store.catalog.planner.process.handler import handlers
from table_store.catalog.planner.process.session import PlannerSession
from table_store.storage.kernel.errors import NotFoundError


@dataclass(frozen=True, slots=True)
class Numbered:
    id: int


class Uncaptured(CapturedException):
    """One of PySpark's own that stands for no exception of the JVM."""

    def __init__(self) -> None:
        self._origin = None

    def __str__(self) -> str:
        return "no JVM exception"


def fails(session: PlannerSession, request: Numbered) -> None:
    raise KeyError("x")


def fails_in_pyspark(session: PlannerSession, request: Numbered) -> None:
    raise Uncaptured


def refuses(session: PlannerSession, request: Numbered) -> None:
    raise NotFoundError(kind="table", name=f"t{request.id}")


def doubles(session: PlannerSession, request: Numbered) -> Numbered:
    return Numbered(2 * request.id)


def adds(session: PlannerSession, request: Numbered, data: int) -> int:
    return request.id + data


def answered(function: Callable[..., Any], request: Any, data: Any = None) -> Any:
    endpoint = PlannerEndpoint(handlers([function]))
    endpoint.bind(None, "/logs/planner-1.log")
    text = json.dumps(request)
    return json.loads(endpoint.handle(None, "session", "numbered", text, data, None))


def test_requests_and_answers_are_values() -> None:
    assert answered(doubles, {"id": 2}) == {"value": {"id": 4}}
    assert answered(adds, {"id": 2}, 3) == {"value": 5}


def test_an_error_of_ours_has_its_condition() -> None:
    error = answered(refuses, {"id": 1})["error"]
    assert error == {
        "condition": "TABLE_STORE_NOT_FOUND",
        "message": str(NotFoundError(kind="table", name="t1")),
        "sqlState": "42P01",
    }


def test_a_request_of_another_form_is_refused() -> None:
    error = answered(doubles, {"id": 1, "name": "t"})["error"]
    assert error["condition"] == "TABLE_STORE_INTERNAL_ERROR"
    assert "Numbered has no 'name'" in error["message"]


@pytest.mark.parametrize(
    ("function", "said"), [(fails, "KeyError"), (fails_in_pyspark, "no JVM exception")]
)
def test_an_internal_error_names_the_log(function: Callable[..., Any], said: str) -> None:
    error = answered(function, {"id": 1})["error"]
    assert error["condition"] == "TABLE_STORE_INTERNAL_ERROR"
    assert said in error["message"]
    assert "/logs/planner-1.log" in error["message"]
    # spark-sql prints a trace of the JVM for states that begin with XX.
    assert error["sqlState"] == "58000"
