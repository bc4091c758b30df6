"""Goal: what the bridge writes is what the planner reads, request by request and key by key.

Method: the bridge's requests are case classes whose parameters are their keys; their source is
compared with the dataclasses that the planner's functions take.
"""

from __future__ import annotations

import dataclasses
import re
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

import pytest

from table_store.catalog.planner.protocol.handles import Handle
from table_store.catalog.planner.protocol.json_form import key_of, reader_of, writer_of
from table_store.catalog.planner.requests import REQUESTS
from table_store.sql_ext.statement_requests import STATEMENT_REQUESTS
from tests.checkout import REPOSITORY

SOURCE = REPOSITORY / "catalog" / "bridge" / "process" / "Requests.scala"
_CLASS = re.compile(r"case class (\w+)\(([^)]*)\)\s*extends (Request|Change|Record)\b")
_PARAMETER = re.compile(r"(\w+): (.+?)(?: = (.+))?")
_PLAIN = {str: "String", int: "Int", bool: "Boolean"}


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    default: str | None


def in_scala() -> Mapping[str, Mapping[str, Parameter]]:
    text = SOURCE.read_text()
    found = {}
    for name, parameters, _ in _CLASS.findall(text):
        parsed = [_PARAMETER.fullmatch(part) for part in _split(" ".join(parameters.split()))]
        assert all(parsed), name
        found[name] = {p[1]: Parameter(p[2], p[3]) for p in parsed if p}
    assert len(found) == len(re.findall(r"\bcase class\b", text)), "the pattern reads all of them"
    return found


def _split(parameters: str) -> Iterator[str]:
    """At the commas that are in no brackets."""
    depth = start = 0
    for at, character in enumerate(parameters):
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            yield parameters[start:at].strip()
            start = at + 1
    if parameters[start:].strip():
        yield parameters[start:].strip()


def in_python() -> Mapping[str, type[Any]]:
    """All dataclasses that requests are made of, without what only the planner understands."""
    known: dict[str, type[Any]] = {}
    for handler in {**REQUESTS, **STATEMENT_REQUESTS}.values():
        _add(handler.request, known)
    return known


def _add(kind: Any, known: dict[str, type[Any]]) -> None:
    if _is_opaque(kind):
        return
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        known[kind.__name__] = kind
        for part in get_type_hints(kind).values():
            _add(part, known)
    for argument in get_args(kind):
        _add(argument, known)


def _is_opaque(kind: Any) -> bool:
    """Several dataclasses: what the planner has answered, and gets back as it is."""
    members = [m for m in get_args(kind) if dataclasses.is_dataclass(m)]
    return get_origin(kind) in (Union, types.UnionType) and len(members) > 1


def scala_type(kind: Any) -> set[str]:
    """How the bridge may write a value of this type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if _is_opaque(kind):
        return {"JValue"}
    if origin in (Union, types.UnionType):
        (inner,) = (a for a in arguments if a is not type(None))
        return {f"Option[{t}]" for t in scala_type(inner)}
    if origin is tuple:
        return {f"Seq[{t}]" for t in scala_type(arguments[0])}
    if origin is Mapping:
        return {f"Map[String, {t}]" for t in scala_type(arguments[1])}
    if isinstance(kind, NewType):
        return {"String"} if kind.__supertype__ is str else {"JValue", "JObject"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return {"String"}
    if kind is int:
        return {"Int", "Long"}
    return {_PLAIN.get(kind, getattr(kind, "__name__", ""))}


SCALA, PYTHON = in_scala(), in_python()


def test_json_stands_for_every_request_and_answer() -> None:
    """Else there is an error."""
    for handler in {**REQUESTS, **STATEMENT_REQUESTS}.values():
        request: Any = handler.request
        reader_of(request)
        writer_of(handler.answers)


def test_a_handle_of_an_answer_can_come_back() -> None:
    """In a request it may be that of any table, so it says which one it is in answers, too."""
    handlers = {**REQUESTS, **STATEMENT_REQUESTS}.values()
    kinds = [kind for h in handlers for kind in (h.answers, *get_args(h.answers))]
    described = [kind for kind in kinds if dataclasses.is_dataclass(kind)]
    found = [get_type_hints(kind).get("handle", Handle) for kind in described]
    assert all(kind == Handle for kind in found)
    assert any("handle" in get_type_hints(kind) for kind in described)


def test_the_same_requests() -> None:
    assert SCALA.keys() == PYTHON.keys()


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_the_same_keys_and_types(name: str) -> None:
    kind, written = PYTHON[name], SCALA[name]
    hints = get_type_hints(kind)
    assert list(written) == [key_of(field.name) for field in dataclasses.fields(kind)]
    for field in dataclasses.fields(kind):
        assert written[key_of(field.name)].type in scala_type(hints[field.name]), field.name


@pytest.mark.parametrize("name", sorted(PYTHON))
def test_what_the_bridge_may_leave_out_has_the_same_default(name: str) -> None:
    defaults = {"None": None, "Nil": (), "false": False}
    for field in dataclasses.fields(PYTHON[name]):
        default = SCALA[name][key_of(field.name)].default
        if default is not None:
            assert field.default == defaults[default], field.name
