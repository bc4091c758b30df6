"""Goal: what goes over the border comes back equal, a mistake is named, and neither takes long."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pytest

from table_store.catalog.planner.protocol.handles import TableHandle
from table_store.catalog.planner.protocol.json_form import (
    ProtocolError,
    from_json,
    key_of,
    request_name,
    to_json,
)
from table_store.catalog.planner.protocol.scans import AskedScan, PlanScan
from table_store.catalog.planner.protocol.spark_values import SparkColumns
from tests.unit.catalog.planner.references import reference


class Color(Enum):
    RED = "red"


@dataclass(frozen=True, slots=True, kw_only=True)
class Circle:
    radius: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    side_length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    shape: Circle | Square
    other: Circle | Square | None = None
    inner: Circle | None
    names: tuple[str, ...] = ()
    pairs: tuple[tuple[str, bool], ...] = ()
    colors: Mapping[str, Color]
    anything: Mapping[str, Any]


WHOLE = Drawing(
    shape=Square(side_length=1),
    other=Circle(radius=2),
    inner=Circle(radius=3),
    names=("a", "b"),
    pairs=(("c", True),),
    colors={"d": Color.RED},
    anything={"e": [1, None, {"f": 2.5}]},
)
SPARSE = Drawing(shape=Circle(radius=1), inner=None, colors={}, anything={})


@pytest.mark.parametrize("drawing", [WHOLE, SPARSE])
def test_there_and_back(drawing: Drawing) -> None:
    assert from_json(Drawing, json.loads(json.dumps(to_json(drawing)))) == drawing


def test_the_form() -> None:
    """None is a key that is not there; a member of a union says which it is."""
    assert to_json(SPARSE) == {
        "shape": {"kind": "Circle", "radius": 1},
        "names": [],
        "pairs": [],
        "colors": {},
        "anything": {},
    }
    assert to_json(WHOLE)["shape"] == {"kind": "Square", "sideLength": 1}
    assert to_json(WHOLE)["inner"] == {"radius": 3}


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"shap": 1}, "Drawing has no 'shap'"),
        ({"shape": {"kind": "Circle"}}, "shape: Circle needs 'radius'"),
        ({"shape": {"kind": "Circle", "radius": "1"}}, "shape.radius: expected int, found str"),
        ({"shape": {"kind": "Circle", "radius": True}}, "shape.radius: expected int, found bool"),
        ({"shape": {"radius": 1}}, "shape: its kind is none of Circle, Square"),
        ({"shape": 1}, "shape: expected Circle or Square, found int"),
        ({"shape": None}, "shape: expected Circle or Square, found NoneType"),
        ({"inner": []}, "inner: expected Circle, found list"),
        ({"names": "ab"}, "names: expected list, found str"),
        ({"pairs": [["a"]]}, "pairs: expected list of 2, found list"),
        ({"colors": {"d": "blue"}}, "colors: it is none of 'red'"),
        ({"colors": []}, "colors: expected object, found list"),
    ],
)
def test_a_mistake_is_named(changed: dict[str, Any], reason: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        from_json(Drawing, {**to_json(SPARSE), **changed})
    assert str(caught.value) == reason


def test_a_missing_key_is_named() -> None:
    with pytest.raises(ProtocolError, match="Drawing needs 'anything'"):
        from_json(Drawing, {"shape": {"kind": "Circle", "radius": 1}, "colors": {}})


def test_names() -> None:
    assert (key_of("row_id"), key_of("at")) == ("rowId", "at")
    assert (request_name(PlanScan), request_name(Drawing)) == ("plan_scan", "drawing")


def test_a_request_costs_microseconds() -> None:
    """A scan of a hundred columns, read and written: far less than the millisecond of a plan."""
    columns = tuple(f"column_{i}" for i in range(100))
    scan = AskedScan(
        table=reference(TableHandle(path="/t", schema_id=1, snapshot_id=2, written=columns)),
        columns=columns,
        schema=SparkColumns("{}"),
        options={"a": "b"},
    )
    item = to_json(PlanScan(scan=scan))
    assert from_json(PlanScan, item) == PlanScan(scan=scan)
    best = min(_seconds(item) for _ in range(20))
    assert best < 500e-6


def _seconds(item: Any) -> float:
    begin = time.perf_counter()
    to_json(from_json(PlanScan, item))
    return time.perf_counter() - begin
