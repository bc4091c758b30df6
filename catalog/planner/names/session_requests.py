"""Requests about sessions."""

from __future__ import annotations

from table_store.catalog.planner.names.catalog_access import remove_temporary_tables
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.sessions import EndSession


def end_session(session: PlannerSession, request: EndSession) -> None:
    """Remove the temporary tables of a session that has ended while its JVM goes on."""
    remove_temporary_tables(session)
