"""Requests about sessions."""

from __future__ import annotations

from table_store.catalog.planner.names.catalog_access import remove_temporary_tables
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession


def end_session(session: PlannerSession, argument: Argument) -> None:
    """Remove what a session that has ended leaves, while its process goes on."""
    remove_temporary_tables(session)
