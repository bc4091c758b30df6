"""The parameters of a request: declared once, for their checks and for the OpenAPI document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from table_store.catalog.service.service_errors import InvalidRequestError
from table_store.storage.kernel.frozen_map import FrozenMap

VALUES_MAX: Final = 100
"""So many tables may be asked for at once."""
_LENGTH_MAX: Final = 300
_NUMBER_MAX: Final = 2**53 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """A parameter of the query.

    Attributes:
        name: of the parameter.
        description: what it does.
        is_number: whether its value is a number from 0 on; else it is a text.
        is_many: whether it may be given several times.
        is_needed: whether it must be given.
        default: what it is if it is not given.
        maximum: of a number.
    """

    name: str
    description: str
    is_number: bool = False
    is_many: bool = False
    is_needed: bool = False
    default: int | str | None = None
    maximum: int = _NUMBER_MAX

    def to_openapi(self) -> dict[str, Any]:
        """Return what an OpenAPI document says of it."""
        schema: dict[str, Any] = {"type": "string", "maxLength": _LENGTH_MAX}
        if self.is_number:
            schema = {"type": "integer", "minimum": 0, "maximum": self.maximum}
        if self.default is not None:
            schema["default"] = self.default
        if self.is_many:
            schema = {"type": "array", "items": schema, "maxItems": VALUES_MAX}
        return {
            "name": self.name,
            "in": "query",
            "description": self.description,
            "required": self.is_needed,
            "schema": schema,
        }


LIMIT: Final = Parameter(
    name="limit",
    description="How many are answered at most.",
    is_number=True,
    default=100,
    maximum=1000,
)


@dataclass(frozen=True, slots=True)
class Query:
    """Checked values of parameters; a number is one already."""

    _values: Mapping[str, tuple[str | int, ...]]

    @classmethod
    def of(cls, given: Sequence[tuple[str, str]], parameters: Sequence[Parameter]) -> Query:
        """Check what a request says.

        Raises:
            InvalidRequestError: there is no such parameter, or it has no such value.
        """
        known = {parameter.name: parameter for parameter in parameters}
        found: dict[str, list[str | int]] = {}
        for name, text in given:
            if name not in known:
                names = ", ".join(known) or "none"
                raise _refused(name, f"it is not known here; known are {names}")
            found.setdefault(name, []).append(_value(known[name], text))
        for parameter in parameters:
            _check_count(parameter, len(found.get(parameter.name, ())))
            if parameter.default is not None:
                found.setdefault(parameter.name, [parameter.default])
        return cls(FrozenMap({name: tuple(values) for name, values in found.items()}))

    def text(self, name: str) -> str | None:
        """Return the text of a parameter; None without one."""
        values = self._values.get(name)
        return None if values is None else str(values[0])

    def number(self, name: str) -> int | None:
        """Return the number of a parameter; None without one."""
        values = self._values.get(name)
        return None if values is None else int(values[0])

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all texts of a parameter, each once."""
        return tuple(dict.fromkeys(str(value) for value in self._values.get(name, ())))

    @property
    def limit(self) -> int:
        """How many are answered at most."""
        return self.number(LIMIT.name) or 0


def _value(parameter: Parameter, text: str) -> str | int:
    if len(text) > _LENGTH_MAX:
        raise _refused(parameter.name, f"it has more than {_LENGTH_MAX} characters")
    if parameter.is_number:
        if not (text.isascii() and text.isdecimal() and int(text) <= parameter.maximum):
            raise _refused(parameter.name, f"use a number from 0 to {parameter.maximum}")
        return int(text)
    return text


def _check_count(parameter: Parameter, count: int) -> None:
    if parameter.is_needed and not count:
        raise _refused(parameter.name, "it is needed")
    if count > (VALUES_MAX if parameter.is_many else 1):
        often = f"at most {VALUES_MAX} times" if parameter.is_many else "once"
        raise _refused(parameter.name, f"give it {often}")


def _refused(name: str, reason: str) -> InvalidRequestError:
    return InvalidRequestError(part=f"parameter {name[:80]!r}", reason=reason)
