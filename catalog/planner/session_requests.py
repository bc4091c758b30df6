"""Requests about sessions."""

from __future__ import annotations

from table_store.catalog.planner.catalog_access import remove_temporary_tables
from table_store.catalog.planner.endpoint import Argument
from table_store.catalog.planner.session import PlannerSession


def end_session(session: PlannerSession, argument: Argument) -> None:
    """Remove what a session that has ended leaves, while its process goes on."""
    remove_temporary_tables(session)
