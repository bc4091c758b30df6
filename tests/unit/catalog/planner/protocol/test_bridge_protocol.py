"""Goal: what one side of the bridge writes is what the other reads, key by key.

Method: the bridge's requests are case classes whose parameters are their keys, its answers classes
whose members are; their source is compared with the types that the planner's functions have.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

import pytest

from table_store.catalog.planner.protocol.failure import Failure
from table_store.catalog.planner.protocol.handles import Handle
from table_store.catalog.planner.protocol.json_form import (
    key_of,
    reader_of,
    request_name,
    writer_of,
)
from table_store.catalog.planner.protocol.materialized_views import QueryFacts
from table_store.catalog.planner.protocol.relations import ChangeType
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from table_store.catalog.planner.read.live_rows_task import LIVE_ROWS
from table_store.catalog.planner.requests import REQUESTS
from table_store.sql_ext.statement_requests import STATEMENT_REQUESTS
from table_store.storage.file_store.model.stored_query import StoredQuery
from tests.checkout import REPOSITORY

BRIDGE = REPOSITORY / "catalog" / "bridge" / "process"
REQUESTS_SOURCE = (BRIDGE / "Requests.scala").read_text()
ANSWERS_SOURCE = (BRIDGE / "Answers.scala").read_text()
_CLASS = re.compile(
    r"case class (\w+)\(([^)]*)\)\s*extends (?:(?:Request|Change)\[(.+)\]|Record\b)"
)
_ANSWER = re.compile(
    r"class (\w+)\(json: JValue\) extends Answer\(json\)((?: with \w+)*) \{\n((?:    val .*\n)*)"
)
_MEMBER = re.compile(r"val `?(\w+)`? = member\[(.+)\]\(\"(\w+)\"\)")
_PARAMETER = re.compile(r"(\w+): (.+?)(?: = (.+))?")
HANDLERS = {**REQUESTS, **STATEMENT_REQUESTS}
_PLAIN = {str: "String", int: "Int", bool: "Boolean"}


@dataclasses.dataclass(frozen=True, slots=True)
class Parameter:
    type: str
    default: str | None


def in_scala() -> Mapping[str, Mapping[str, Parameter]]:
    found = {}
    for name, parameters, _ in _CLASS.findall(REQUESTS_SOURCE):
        parsed = [_PARAMETER.fullmatch(part) for part in _split(" ".join(parameters.split()))]
        assert all(parsed), name
        found[name] = {p[1]: Parameter(p[2], p[3]) for p in parsed if p}
    assert len(found) == len(re.findall(r"\bcase class\b", REQUESTS_SOURCE)), (
        "the pattern reads all of them"
    )
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


def answers_in_scala() -> Mapping[str, Mapping[str, str]]:
    """The members of each answer with their types."""
    found = {}
    for name, _, body in _ANSWER.findall(ANSWERS_SOURCE):
        members = [_MEMBER.fullmatch(line.strip()) for line in body.splitlines()]
        assert all(m and m[1] == m[3] for m in members), name
        found[name] = {m[1]: m[2] for m in members if m}
    assert len(found) == len(re.findall(r"extends Answer\b", ANSWERS_SOURCE))
    return found


def unions_in_scala() -> Mapping[frozenset[str], str]:
    """The sealed traits by the answers that extend them."""
    supers = {
        name: re.findall(r"\w+", traits)[1::2]
        for name, traits, _ in _ANSWER.findall(ANSWERS_SOURCE)
    }
    sealed = dict(re.findall(r"sealed trait (\w+)(?: extends (\w+))?", ANSWERS_SOURCE))
    found = {}
    for trait in sealed:
        below = {trait} | {name for name, above in sealed.items() if above == trait}
        found[frozenset(name for name, above in supers.items() if below & set(above))] = trait
    return found


def in_python() -> Mapping[str, type[Any]]:
    """All dataclasses that requests are made of, without what only the planner understands."""
    known: dict[str, type[Any]] = {}
    for beside in (ChangeType, QueryFacts):  # a part of a table's name, an answer of the bridge
        _add(beside, known)
    for handler in HANDLERS.values():
        _add(handler.request, known)
    return known


def answers_in_python() -> Mapping[str, type[Any]]:
    """The same of answers."""
    known: dict[str, type[Any]] = {"Failure": Failure, "StoredQuery": StoredQuery}
    for handler in HANDLERS.values():
        for kind in get_args(handler.answers) if _is_opaque(handler.answers) else [handler.answers]:
            _add(kind, known)
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


def scala_answer(kind: Any) -> set[str]:
    """As what the bridge may read a value of this type."""
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is type(None):
        return {"Unit"}
    if kind is SparkColumns:
        return {"StructType"}
    if _is_opaque(kind):
        return {"JValue"}
    if origin in (Union, types.UnionType):
        (inner,) = (a for a in arguments if a is not type(None))
        return {f"Option[{t}]" for t in scala_answer(inner)}
    if origin is tuple:
        return {f"Seq[{t}]" for t in scala_answer(arguments[0])}
    return scala_type(kind)


SCALA, PYTHON = in_scala(), in_python()
SCALA_ANSWERS, PYTHON_ANSWERS = answers_in_scala(), answers_in_python()
UNIONS = unions_in_scala()


def test_json_stands_for_every_request_and_answer() -> None:
    """Else there is an error."""
    for handler in HANDLERS.values():
        request: Any = handler.request
        reader_of(request)
        writer_of(handler.answers)


def test_a_handle_of_an_answer_can_come_back() -> None:
    """In a request it may be that of any table, so it says which one it is in answers, too."""
    kinds = [kind for h in HANDLERS.values() for kind in (h.answers, *get_args(h.answers))]
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


def test_the_same_values_of_enumerations() -> None:
    bodies = dict(re.findall(r"  object (\w+) \{\n((?:    val .*\n)+)  \}", REQUESTS_SOURCE))
    enums = {
        kind.__name__: kind
        for record in (*PYTHON.values(), *PYTHON_ANSWERS.values())
        for kind in get_type_hints(record).values()
        if isinstance(kind, type) and issubclass(kind, Enum)
    }
    assert bodies.keys() == enums.keys() - {"Deduplication"}  # whose values are Spark's own
    for name, body in bodies.items():
        assert re.findall(r'= "(.+)"', body) == [member.value for member in enums[name]]


def test_the_same_answers() -> None:
    assert SCALA_ANSWERS.keys() == PYTHON_ANSWERS.keys()


@pytest.mark.parametrize("name", sorted(PYTHON_ANSWERS))
def test_the_same_keys_and_types_of_answers(name: str) -> None:
    kind, read = PYTHON_ANSWERS[name], SCALA_ANSWERS[name]
    hints = get_type_hints(kind)
    assert list(read) == [key_of(field.name) for field in dataclasses.fields(kind)]
    for field in dataclasses.fields(kind):
        assert read[key_of(field.name)] in scala_answer(hints[field.name]), field.name


def test_each_request_has_the_same_answer() -> None:
    for name, _, answer in _CLASS.findall(REQUESTS_SOURCE):
        if answer:
            kind = HANDLERS[request_name(PYTHON[name])].answers
            if _is_opaque(kind):
                assert answer == f"Answers.{UNIONS[frozenset(m.__name__ for m in get_args(kind))]}"
            else:
                assert answer.replace("Answers.", "") in scala_answer(kind), name


def test_each_of_several_answers_is_known_by_its_kind() -> None:
    """Else the bridge refuses an answer that its type allows."""
    forms = re.findall(r"Form\[(\w+)\] =\s*oneOf\((.*)\)", ANSWERS_SOURCE)
    assert {frozenset(re.findall(r"kind\[(\w+)\]", kinds)): t for t, kinds in forms} == UNIONS


def test_the_same_columns_of_live_rows() -> None:
    source = (BRIDGE.parent / "read" / "LiveRows.scala").read_text()
    read = re.findall(r'\.add\("(\w+)", (\w+)Type\)', source)
    written = json.loads(LIVE_ROWS)["fields"]
    assert [(name, kind.lower()) for name, kind in read] == [
        (f["name"], f["type"]) for f in written
    ]
