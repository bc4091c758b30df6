"""Options of tables over a database's table; names and meanings are Flink CDC's."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import FOR_TABLE, TEXT, Option, integer, whole_number

HOSTNAME: Option[str | None] = Option(
    key="hostname",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    doc="Of `mysql-cdc` and `postgres-cdc`: the database's host; altered, that "
    "of the same database, or of a replica that has taken its place.",
)
PORT: Option[int | None] = Option(
    key="port",
    type=whole_number("Integer", 1, 65535),
    default=None,
    scopes=FOR_TABLE,
    derived_default="3306 of `mysql-cdc`, 5432 of `postgres-cdc`",
    doc="Of `mysql-cdc` and `postgres-cdc`: the database's port.",
)
USERNAME: Option[str | None] = Option(
    key="username",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    doc="Of `mysql-cdc`, `postgres-cdc` and `jdbc`: the database's user who reads the table and, "
    "for the first two, the log of its changes.",
)
PASSWORD: Option[str | None] = Option(
    key="password",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    doc="Of `mysql-cdc`, `postgres-cdc` and `jdbc`: the user's password, or `${secret:env:NAME}` "
    "or `${secret:file:/path}` in its place.",
)
DATABASE_NAME: Option[str | None] = Option(
    key="database-name",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc` and `postgres-cdc`: the database of the table that is read; for "
    "`mysql-cdc` also a regular expression.",
)
TABLE_NAME: Option[str | None] = Option(
    key="table-name",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc`, `postgres-cdc` and `jdbc`: the table that is read; for "
    "`mysql-cdc` also a regular expression.",
)
CHUNK_SIZE = Option(
    key="scan.incremental.snapshot.chunk.size",
    type=integer(),
    default=100_000,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `mysql-cdc` and `postgres-cdc`: about how many rows of the table one task reads at the "
    "beginning. More: fewer statements, which take longer.",
)

DATABASE_OPTIONS: Final = (
    HOSTNAME,
    PORT,
    USERNAME,
    PASSWORD,
    DATABASE_NAME,
    TABLE_NAME,
    CHUNK_SIZE,
)
