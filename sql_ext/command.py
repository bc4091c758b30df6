"""The commands among our statements: the columns that each returns, and how it is executed."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa

from table_store.catalog.errors import WrongRelationKindError
from table_store.catalog.planner.names.catalog_access import WAREHOUSE
from table_store.catalog.planner.names.catalog_of import CATALOG_CLASS, require_managed
from table_store.catalog.planner.names.table_requests import drop_temporary, managed_table
from table_store.catalog.planner.process.endpoint import Argument
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.read.arrow_answer import arrow_answer
from table_store.catalog.planner.read.partition_values import stated_partition
from table_store.catalog.planner.write.maintenance import compact_table
from table_store.catalog.shown.describe import describe_rows
from table_store.catalog.tables.lifecycle import ManagedTable
from table_store.sql_ext.statements.show_create import create_statement
from table_store.sql_ext.statements.statements import Command
from table_store.storage.kernel.errors import (
    AlreadyExistsError,
    InvalidOptionError,
    UnknownOptionError,
)
from table_store.storage.kernel.secrets import shown_value
from table_store.storage.kernel.values import Value
from table_store.storage.log_store.logged_table import open_logged

Rows = list[dict[str, Any]]
_RUNTIME_MODE = "execution.runtime-mode"
_SPARK_TYPES = {pa.string(): "string", pa.int64(): "long"}


@dataclass(frozen=True, slots=True)
class CommandKind:
    """Result columns of a command, and the function (session, fields) -> rows that runs it."""

    columns: tuple[tuple[str, pa.DataType], ...]
    run: Callable[[PlannerSession, Argument], Rows]

    @property
    def schema(self) -> dict[str, Any]:
        """The result columns as Spark's JSON."""
        fields = [
            {"name": name, "type": _SPARK_TYPES[kind], "nullable": True, "metadata": {}}
            for name, kind in self.columns
        ]
        return {"type": "struct", "fields": fields}


def run_command(session: PlannerSession, argument: Argument) -> dict[str, Any]:
    """Run a command and return its rows."""
    kind = COMMANDS[argument["command"]]
    rows = kind.run(session, argument)
    return arrow_answer(pa.Table.from_pylist(rows, schema=pa.schema(list(kind.columns))))


def command_schema(command: Command) -> dict[str, Any]:
    """The result columns of a parsed command, as Spark's JSON."""
    return COMMANDS[type(command).__name__].schema


def _compact(session: PlannerSession, argument: Argument) -> Rows:
    name = require_managed(session, argument["name"])
    _, managed = managed_table(session, name)
    partition = _partition(session, name, managed, argument["partition"])
    return [compact_table(session, open_logged(managed.location), managed.schema, partition)]


def _describe(session: PlannerSession, argument: Argument) -> Rows:
    name = require_managed(session, argument["name"])
    try:
        _, managed = managed_table(session, name)
    except WrongRelationKindError:
        return []
    rows = describe_rows(
        open_logged(managed.location),
        partition=_partition(session, name, managed, argument["partition"]),
        time_zone=session.conf("spark.sql.session.timeZone") or "UTC",
    )
    return [
        {"col_name": row.name, "data_type": row.value or "", "comment": row.description}
        for row in rows
    ]


def _show_create(session: PlannerSession, argument: Argument) -> Rows:
    managed = require_managed(session, argument["name"])
    access, table = managed_table(session, managed)
    name: tuple[str, ...] = (access.name, *managed["namespace"], table.identifier.name)
    is_temporary = access.temporary.holds(table.location)
    statement = create_statement(
        table.schema, name[-1:] if is_temporary else name, is_temporary=is_temporary
    )
    return [{"createtab_stmt": statement}]


def _set(session: PlannerSession, argument: Argument) -> Rows:
    key, value = argument["key"], argument["value"]
    if key == _RUNTIME_MODE and value.lower() not in ("batch", "streaming"):
        raise InvalidOptionError(key=key, value=value, reason="use 'batch' or 'streaming'")
    session.set_conf(key, value)
    return [{"key": key, "value": shown_value(key, value)}]


def _show(session: PlannerSession, argument: Argument) -> Rows:
    key = argument["key"]
    value = session.conf(key)
    return [{"key": key, "value": "<undefined>" if value is None else shown_value(key, value)}]


def _reset(session: PlannerSession, argument: Argument) -> Rows:
    session.set_conf(argument["key"], None)
    return []


def _create_catalog(session: PlannerSession, argument: Argument) -> Rows:
    key = f"spark.sql.catalog.{argument['name']}"
    if session.conf(key) is not None:
        if argument["if_not_exists"]:
            return []
        remedy = "begin another session, since a catalog stays until its session ends"
        raise AlreadyExistsError(kind="catalog", name=argument["name"], remedy=remedy)
    for option, value in argument["options"]:
        _check_catalog_option(option, value)
    for option, value in argument["options"]:
        session.set_conf(f"{key}.{option}", value)
    session.set_conf(key, CATALOG_CLASS)
    return []


def _check_catalog_option(option: str, value: str) -> None:
    if option not in _CATALOG_OPTIONS:
        close = difflib.get_close_matches(option, _CATALOG_OPTIONS, n=1)
        raise UnknownOptionError(key=option, nearest=close[0] if close else None)
    if option == "type" and value.lower() not in _CATALOG_TYPES:
        reason = f"use {' or '.join(map(repr, _CATALOG_TYPES))}"
        raise InvalidOptionError(key=option, value=value, reason=reason)
    if option == WAREHOUSE and not (value.startswith("/") or ":/" in value):
        reason = "use an absolute path, or a URI: each program has another current folder"
        raise InvalidOptionError(key=option, value=value, reason=reason)


def _drop_temporary(session: PlannerSession, argument: Argument) -> Rows:
    drop_temporary(require_managed(session, argument["name"]), session, argument["if_exists"])
    return []


def _explain(_: PlannerSession, argument: Argument) -> Rows:
    return [{"plan": f"== Physical Plan ==\nExecute {argument['plan']}\n"}]


def _partition(
    session: PlannerSession,
    name: Argument,
    managed: ManagedTable,
    terms: Sequence[Mapping[str, str]],
) -> dict[str, Value]:
    parts = (name["catalog"], *name["namespace"], name["name"])
    constants = [(term["column"], term["sql"]) for term in terms]
    return stated_partition(session, parts, managed.schema, constants)


_CATALOG_OPTIONS = ("type", WAREHOUSE)
_CATALOG_TYPES = ("table-store", "table_store")
_KEY_VALUE = (("key", pa.string()), ("value", pa.string()))

COMMANDS: Final[dict[str, CommandKind]] = {
    "Compact": CommandKind(
        (
            ("files_before", pa.int64()),
            ("files_after", pa.int64()),
            ("bytes_before", pa.int64()),
            ("bytes_after", pa.int64()),
        ),
        _compact,
    ),
    "DescribeExtended": CommandKind(
        (("col_name", pa.string()), ("data_type", pa.string()), ("comment", pa.string())),
        _describe,
    ),
    "ShowCreateTable": CommandKind((("createtab_stmt", pa.string()),), _show_create),
    "SetOption": CommandKind(_KEY_VALUE, _set),
    "ShowOption": CommandKind(_KEY_VALUE, _show),
    "ResetOption": CommandKind((), _reset),
    "CreateCatalog": CommandKind((), _create_catalog),
    "DropTemporaryTable": CommandKind((), _drop_temporary),
    "Explain": CommandKind((("plan", pa.string()),), _explain),
}
