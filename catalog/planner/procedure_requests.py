"""Requests about stored procedures."""

from __future__ import annotations

from typing import Any

from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.planner.session import PlannerSession


def list_procedures(session: PlannerSession, argument: Argument) -> list[str]:
    """The names of the procedures in a namespace."""
    return []


def load_procedure(session: PlannerSession, argument: Argument) -> dict[str, Any] | None:
    """A procedure's description and parameters; None where there is none of that name."""
    return None


def call_procedure(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """Run a procedure; its result rows."""
    raise NotImplementedError
