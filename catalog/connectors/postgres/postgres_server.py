"""What a server writes into its log, up to where, and whether a table's changes are told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.database_errors import SourceServerError
from table_store.catalog.connectors.postgres.postgres_connection import Connection, quoted_name
from table_store.catalog.connectors.postgres.postgres_definition import PostgresDefinition

_SERVER: Final = (
    "SELECT current_setting('wal_level'), pg_catalog.pg_is_in_recovery(), "
    "(SELECT rolsuper OR rolreplication FROM pg_catalog.pg_roles WHERE rolname = current_user)"
)
_END: Final = (
    "SELECT (pg_catalog.pg_current_wal_flush_lsn() - '0/0')::bigint, system_identifier "
    "FROM pg_catalog.pg_control_system()"
)
_DATABASE: Final = (
    "SELECT oid FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()"
)
# The columns of the view depend on the version.
_PUBLICATION: Final = (
    "SELECT p.pubinsert, p.pubupdate, p.pubdelete, p.pubtruncate, (SELECT to_jsonb(t) "
    "FROM pg_catalog.pg_publication_tables t WHERE t.pubname = p.pubname AND t.schemaname = %s "
    "AND t.tablename = %s), coalesce((SELECT r.oid FROM pg_catalog.pg_publication_rel r "
    "WHERE r.prpubid = p.oid AND r.prrelid = %s), 0), p.oid "
    "FROM pg_catalog.pg_publication p WHERE p.pubname = %s"
)


@dataclass(frozen=True, slots=True)
class LogEnd:
    """Up to where a server's log is on its disk, as the number of a byte, and whose log it is."""

    at: int
    server_id: int

    @classmethod
    def of(cls, connection: Connection) -> LogEnd:
        """Look at the log now."""
        return cls(*connection.rows(_END)[0])


def check_server(connection: Connection, definition: PostgresDefinition) -> None:
    """Check that a server tells the changes of its tables.

    Raises:
        SourceServerError: it does not.
        SourceRefusedError: it does not tell the user.
    """
    ((level, is_standby, may_replicate),) = connection.rows(_SERVER)
    server = definition.database.server
    if level != "logical":
        raise SourceServerError(
            server=server,
            reason=f"wal_level is {level}, not logical",
            remedy="As its administrator ALTER SYSTEM SET wal_level = logical, and restart it",
        )
    if is_standby:
        raise SourceServerError(
            server=server,
            reason="it is a standby",
            remedy="Create the source with the 'hostname' of its primary",
        )
    if not may_replicate:
        user = quoted_name(definition.database.user)
        raise definition.database.refused(
            f"it has not the attribute REPLICATION: ALTER ROLE {user} REPLICATION"
        )


def publication_id(connection: Connection, definition: PostgresDefinition, oid: int) -> str:
    """Return what the membership of a table in its publication is known by.

    Raises:
        SourceServerError: the publication is not there, or does not tell all changes of the table.
    """
    name = quoted_name(definition.publication)
    table = f"{quoted_name(definition.schema_name)}.{quoted_name(definition.table_name)}"
    place = (definition.schema_name, definition.table_name, oid, definition.publication)
    found = connection.rows(_PUBLICATION, place)
    reason, remedy = None, f"CREATE PUBLICATION {name} FOR TABLE {table}"
    if not found:
        reason = f"there is no publication {definition.publication}"
    else:
        *told, member, relation, publication = found[0]
        names = ("insert", "update", "delete", "truncate")
        untold = [kind for kind, is_told in zip(names, told, strict=True) if not is_told]
        if member is None:
            reason = f"the publication {definition.publication} has not the table {table}"
            remedy = f"ALTER PUBLICATION {name} ADD TABLE {table}"
        elif untold:
            reason = f"the publication {definition.publication} leaves out each {untold[0]}"
            remedy = f"ALTER PUBLICATION {name} SET (publish = '{', '.join(names)}')"
        elif member.get("rowfilter") is not None:
            reason = f"the publication {definition.publication} leaves out rows of {table}"
            remedy = f"Create one without WHERE: {remedy.replace(name, 'another_name')}"
        else:
            columns = member.get("attnames")
            missing = [
                field.name
                for field in definition.columns
                if columns is not None and field.name not in columns
            ]
            if not missing:
                return f"{publication}.{relation}"
            reason = f"the publication {definition.publication} leaves out column {missing[0]}"
            remedy = f"Create one with it: {remedy.replace(name, 'another_name')}"
    raise SourceServerError(
        server=definition.database.server,
        reason=reason,
        remedy=f"As the owner of the table {remedy}, and name it by 'debezium.publication.name'",
    )


def log_id(
    connection: Connection, definition: PostgresDefinition, end: LogEnd, oid: int, publication: str
) -> str:
    """Return what a table's log is known by: other ones have another history."""
    ((database,),) = connection.rows(_DATABASE)
    return f"{end.server_id}:{database}:{oid}:{publication}:{definition.slot}"
