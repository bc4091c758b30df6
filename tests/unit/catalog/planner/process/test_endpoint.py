"""Goal: what goes wrong inside of the planner is told in one line that names the log."""

from __future__ import annotations

import json
from typing import Any

from table_store.catalog.planner.process.endpoint import PlannerEndpoint


def test_an_internal_error_names_the_log() -> None:
    def fails(session: Any, argument: Any) -> None:
        raise KeyError("x")

    endpoint = PlannerEndpoint({"fails": fails}, {})
    endpoint.bind(None, "/logs/planner-1.log")
    answer = json.loads(endpoint.handle(None, "session", "fails", "{}", None, None))
    error = answer["error"]
    assert error["condition"] == "TABLE_STORE_INTERNAL_ERROR"
    assert "KeyError" in error["message"]
    assert "/logs/planner-1.log" in error["message"]
    # spark-sql prints a trace of the JVM for states that begin with XX.
    assert error["sqlState"] == "58000"
