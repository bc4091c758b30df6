"""A stored procedure: its parameters with their types, its result, and its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

import pyarrow as pa

from table_store.storage.kernel.errors import (
    InvalidOptionError,
    TableStoreError,
    UnknownOptionError,
)
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.types import BOOLEAN, INTEGER, LONG, STRING, DataType

Context = TypeVar("Context")


class MissingArgumentError(TableStoreError):
    """A CALL leaves out an argument that has no default."""

    condition = "TABLE_STORE_MISSING_ARGUMENT"
    sql_state = "4274K"

    def __init__(self, *, procedure: str, argument: str) -> None:
        self.procedure = procedure
        self.argument = argument
        super().__init__(f"Procedure {procedure!r} needs the argument {argument!r}.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcedureParameter:
    """One parameter. A parameter that is not required has NULL as its default."""

    name: str
    type: DataType
    is_required: bool
    description: str

    @property
    def default(self) -> str | None:
        """SQL text of the default; None if there is none."""
        return None if self.is_required else "NULL"


@dataclass(frozen=True, slots=True)
class Arguments:
    """The values of one call, checked against the parameters."""

    values: Mapping[str, str | int | bool | None]

    def text(self, name: str) -> str:
        """Return a required text."""
        return str(self.values[name])

    def optional_text(self, name: str) -> str | None:
        """Return a text; None if it was left out."""
        value = self.values[name]
        return None if value is None else str(value)

    def optional_int(self, name: str) -> int | None:
        """Return a number; None if it was left out."""
        value = self.values[name]
        return None if value is None else int(value)

    def optional_bool(self, name: str) -> bool | None:
        """Return a truth value; None if it was left out."""
        value = self.values[name]
        return None if value is None else bool(value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure(Generic[Context]):
    """A procedure whose parameters come in the order of positional calls."""

    name: str
    description: str
    parameters: tuple[ProcedureParameter, ...]
    result: pa.Schema
    run: Callable[[Context, Arguments], pa.Table]

    def call(self, context: Context, arguments: Mapping[str, str | None]) -> pa.Table:
        """Return the rows of a call, with the columns of `result`.

        Args:
            context: passed on to the procedure's function.
            arguments: by name, as text; None or absent if left out.

        Raises:
            MissingArgumentError: a required one is left out.
            UnknownOptionError: there is no such parameter.
            InvalidOptionError: a text is no value of the parameter's type.
        """
        known = {parameter.name: parameter for parameter in self.parameters}
        for name in arguments:
            if name not in known:
                raise UnknownOptionError(key=name, nearest=None)
        values = {
            name: self._value(parameter, arguments.get(name)) for name, parameter in known.items()
        }
        return self.run(context, Arguments(FrozenMap(values)))

    def _value(self, parameter: ProcedureParameter, text: str | None) -> str | int | bool | None:
        if text is None:
            if parameter.is_required:
                raise MissingArgumentError(procedure=self.name, argument=parameter.name)
            return None
        try:
            if parameter.type in (INTEGER, LONG):
                return int(text)
            if parameter.type == BOOLEAN:
                return {"true": True, "false": False}[text.strip().lower()]
        except (ValueError, KeyError) as error:
            reason = f"use a value of type {parameter.type.sql_name()}"
            raise InvalidOptionError(key=parameter.name, value=text, reason=reason) from error
        return text


TABLE_PARAMETER: Final = ProcedureParameter(
    name="table",
    type=STRING,
    is_required=True,
    description="The table, as table or namespace.table.",
)
"""The table that most procedures work on."""


def optional_parameter(name: str, data_type: DataType, description: str) -> ProcedureParameter:
    """Return a parameter that a call may leave out."""
    return ProcedureParameter(name=name, type=data_type, is_required=False, description=description)
