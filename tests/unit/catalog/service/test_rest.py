"""Goal: REST tells what storage says, in the form that the OpenAPI document promises."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jsonschema
import pytest
from openapi_spec_validator import validate

from table_store import connect
from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.meta_service.submitted_jobs import Order, Submission, SubmittedJobs
from table_store.catalog.names.process_identity import identity_of
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.service.endpoints import ENDPOINTS
from table_store.catalog.service.observation import Observer
from table_store.catalog.shown.topology_tables import TOPOLOGY_TABLES, WarehouseTopology
from table_store.topology import versions_together
from tests.fakes.written_topology import WrittenTopology
from tests.unit.catalog.service.conftest import TOKEN, Service

PARAMETERS: dict[str, dict[str, Any]] = {
    "/v1/versions": {"table": ["a", "b"]},
    "/v1/lineage/columns": {"table": "default.c"},
}


def by(rows: list[dict[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    return {row[key]: row for row in rows}


def test_tables(service: Service) -> None:
    tables = by(service.told("/v1/tables")["tables"], "name")
    assert list(tables) == ["default.r", "default.a", "default.b", "default.c"]
    root = tables["default.r"]
    assert (root["kind"], root["job"], root["readers"]) == ("Root", None, ["a", "b"])
    assert (root["barrier"], root["snapshot"], root["newestSnapshot"]) == (20, 2, 2)
    assert (tables["default.a"]["barrier"], tables["default.a"]["delayMs"]) == (20, 0)
    late = tables["default.c"]
    assert (late["barrier"], late["bottlenecks"]) == (10, ["b"])
    assert late["delayMs"] > 0
    one = service.told("/v1/tables", table="default.c", limit=1)["tables"]
    assert [table["name"] for table in one] == ["default.c"]


def test_jobs(service: Service) -> None:
    jobs = by(service.told("/v1/jobs")["jobs"], "id")
    assert (jobs["b"]["failures"], jobs["b"]["error"]) == (1, "[X] out of space")
    assert (jobs["b"]["rule"], jobs["b"]["milliseconds"]) == ("incremental", 100)
    assert jobs["a"]["error"] is None
    assert jobs["a"]["rowsPerSecond"] == 20 * 1000 // 47
    assert jobs["c"]["sources"] == ["default.a", "default.b"]
    assert [job["id"] for job in service.told("/v1/jobs", job="c")["jobs"]] == ["c"]


def test_states(written: WrittenTopology) -> None:
    written.register("waits", "r")
    written.register("dead", "r")
    written.claim("dead", replace(identity_of(), start="long ago"))
    written.register("given-up", "r", state=JobState.SUSPENDED)
    states = {one["id"]: one["state"] for one in Service(written).told("/v1/jobs")["jobs"]}
    assert states.pop("waits") == "SUBMITTED"
    assert states.pop("dead") == "FAILED"
    assert states.pop("given-up") == "SUSPENDED"
    assert set(states.values()) == {"RUNNING"}


def test_barriers_progress_and_lineage(service: Service) -> None:
    barriers = service.told("/v1/barriers")["barriers"]
    assert [one["number"] for one in barriers] == [20, 10]
    assert barriers[0]["tables"] == [{"table": "default.r", "snapshot": 2}]
    epochs = service.told("/v1/progress", barrier=10)["epochs"]
    assert [(one["job"], one["startedMs"]) for one in epochs] == [("c", 150), ("b", 30), ("a", 70)]
    read = service.told("/v1/lineage/sources", job="c")["lineage"]
    assert [(row["table"], row["snapshot"]) for row in read] == [("default.a", 1), ("default.b", 1)]
    wrote = service.told("/v1/lineage/sinks", barrier=20)["lineage"]
    assert wrote == [{"job": "a", "barrier": 20, "table": "default.a", "snapshot": 2}]


def test_columns(service: Service) -> None:
    told = service.told("/v1/lineage/columns", table="default.c")
    one, other = ({"table": f"default.{name}", "column": "n"} for name in "ab")
    assert told["columns"] == [{"name": "n", "type": "INT", "sources": [one]}]
    assert (told["table"], told["isKnown"], told["conditions"]) == ("default.c", True, [one, other])
    told = service.told("/v1/lineage/columns", table="default.r")
    assert told["columns"] == [{"name": "n", "type": "INT", "sources": []}]
    assert (told["isKnown"], told["conditions"]) == (True, []), "nothing is told of a root's rows"
    told = service.told("/v1/lineage/columns", table="default.a")
    assert (told["isKnown"], told["columns"][0]["sources"]) == (False, []), "its INSERT is not kept"


def test_a_root_that_was_dropped(written: WrittenTopology) -> None:
    """What hangs together with it is still told; nobody knows from when `b` and `c` are late."""
    connect(written.warehouse.root).drop("r")
    service = Service(written)
    tables = by(service.told("/v1/tables")["tables"], "name")
    assert {name: tables[f"default.{name}"]["barrier"] for name in "abc"} == {
        "a": 20,
        "b": 10,
        "c": 10,
    }
    status, condition, message = service.refused("/v1/lineage/columns", table="default.r")
    assert (status, condition) == (404, "TABLE_STORE_NOT_FOUND")
    assert "default.r" in message


def test_delays(service: Service) -> None:
    told = service.told("/v1/delays")
    late = by(told["tables"], "table")["default.a"]
    windows = by(late["windows"], "window")
    assert windows["1m"]["delayMs"]["count"] == 1, "the other came in 1970"
    assert late["knownSinceMs"] == 110
    assert by(told["tables"], "table")["default.b"]["windows"][0]["delayMs"] is None
    assert by(by(told["jobs"], "job")["a"]["windows"], "window")["24h"]["workingMs"]["max"] == 7


@pytest.mark.parametrize("consistency", ["RepeatableRead", "ReadCommitted", "ReadUncommitted"])
def test_versions(service: Service, consistency: str) -> None:
    tables = ["a", "default.r"]
    told = service.told("/v1/versions", table=tables, consistency=consistency)
    root = service.written.warehouse.root
    assert {row["table"]: row["version"] for row in told["versions"]} == versions_together(
        root, tables, consistency=consistency
    )
    barriers = {"RepeatableRead": 10, "ReadCommitted": 20, "ReadUncommitted": None}
    assert {row["barrier"] for row in told["versions"]} == {barriers[consistency]}


def test_versions_at_a_barrier(service: Service) -> None:
    (row,) = service.told("/v1/versions", table="a", barrier=10)["versions"]
    assert (row["version"], row["barrier"]) == (1, 10)
    status, condition, message = service.refused("/v1/versions", table=["a", "b"], barrier=20)
    assert (status, condition) == (409, "TABLE_STORE_NO_COMMON_BARRIER")
    assert "default.db/b, " in message


def test_the_topology_is_all_of_it(service: Service) -> None:
    told = service.told("/v1/topology")
    assert (told["barrier"], told["readableBarrier"]) == (20, 10)
    for kind in ("tables", "jobs"):
        other = service.told(f"/v1/{kind}")[kind]
        same = {"delayMs": None}  # the other look may be a later one
        assert [one | same for one in told[kind]] == [one | same for one in other]
    rows = (
        TOPOLOGY_TABLES["jobs"].rows(WarehouseTopology(service.written.warehouse, "")).to_pylist()
    )
    told_rows = [(one["id"], one["table"], one["barrier"], one["snapshot"]) for one in told["jobs"]]
    names = ("job_id", "table_name", "barrier", "snapshot")
    assert told_rows == [tuple(row[name] for name in names) for row in rows]


def test_the_document_is_openapi_and_names_every_path(service: Service) -> None:
    document = service.told("/openapi.json")
    validate(document)
    routes = {route.path for route in service.client.app.application.routes}  # type: ignore[attr-defined]
    assert set(document["paths"]) == {path for path in routes if path.startswith("/v1/")}


@pytest.mark.parametrize(
    "endpoint", [one for one in ENDPOINTS if not one.is_order], ids=lambda one: one.path
)
def test_answers_are_as_the_document_says(service: Service, endpoint: Any) -> None:
    document = service.told("/openapi.json")
    answer = service.told(endpoint.path, **PARAMETERS.get(endpoint.path, {}))
    name = endpoint.answer.__name__
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    jsonschema.validate(answer, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "more": 1}, schema)


@pytest.mark.parametrize(
    ("path", "parameters", "status", "text"),
    [
        ("/v1/jobs", {"limit": "1001"}, 400, "from 0 to 1000"),
        ("/v1/jobs", {"limit": "-1"}, 400, "from 0 to 1000"),
        ("/v1/jobs", {"limit": "٣"}, 400, "from 0 to 1000"),
        ("/v1/jobs", {"limit": ["1", "2"]}, 400, "once"),
        ("/v1/jobs", {"limits": "1"}, 400, "known are job, limit"),
        ("/v1/jobs", {"job": "x" * 301}, 400, "300 characters"),
        ("/v1/jobs", {"job": "nobody"}, 404, "job 'nobody' does not exist"),
        ("/v1/tables", {"table": "default.none"}, 404, "default.none"),
        ("/v1/lineage/columns", {}, 400, "it is needed"),
        ("/v1/lineage/columns", {"table": "default.none"}, 404, "default.none"),
        ("/v1/lineage/columns", {"table": ["default.a", "default.b"]}, 400, "once"),
        ("/v1/versions", {}, 400, "it is needed"),
        ("/v1/versions", {"table": ["t"] * 101}, 400, "at most 100 times"),
        ("/v1/versions", {"table": "none"}, 404, "none"),
        ("/v1/versions", {"table": "../x"}, 404, "/x"),
        ("/v1/versions", {"table": "a", "consistency": "some"}, 400, "ReadUncommitted"),
        ("/v1/nothing", {}, 404, "/v1/nothing"),
        ("/static/../server.py", {}, 404, "does not exist"),
    ],
)
def test_what_is_refused(
    service: Service, path: str, parameters: dict[str, Any], status: int, text: str
) -> None:
    found, condition, message = service.refused(path, **parameters)
    assert (found, text in message) == (status, True), message
    assert condition.startswith("TABLE_STORE_")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [("pause", Order.PAUSE), ("resume", Order.RUN), ("refresh", Order.REFRESH)],
)
def test_orders(written: WrittenTopology, path: str, wanted: Order) -> None:
    """They come to the job runner as its own submission with another order."""
    sink = written.table("b").path
    jobs = SubmittedJobs.of(written.warehouse)
    jobs.submit(Submission(sink=sink, listed="the planner's text"))
    service = Service(written, token=TOKEN)
    service.client.headers["Authorization"] = f"Bearer {TOKEN}"
    shown = by(service.told("/v1/jobs")["jobs"], "id")
    assert [name for name, job in shown.items() if job["isSubmitted"]] == ["b"]
    answer = service.client.post(f"/v1/jobs/{path}", params={"job": "b"})
    assert answer.json() == {"job": "b", "order": path, "hasRunner": False}
    document = service.told("/openapi.json")
    schema = {"$ref": "#/components/schemas/OrderAnswer", "components": document["components"]}
    jsonschema.validate(answer.json(), schema)
    assert set(document["paths"][f"/v1/jobs/{path}"]) == {"post"}
    (given,) = jobs.all()
    assert (given.sink, given.listed, given.order) == (sink, "the planner's text", wanted)
    assert given.number == 2
    for job, status, text in (("a", 409, "STOP JOB"), ("nobody", 404, "nobody")):
        refused = service.client.post(f"/v1/jobs/{path}", params={"job": job})
        assert (refused.status_code, text in refused.text) == (status, True), refused.text
    assert jobs.numbers() == {given.digest: 2}, "nothing else was written"


def test_a_damaged_registry_is_told_without_a_trace(written: WrittenTopology) -> None:
    file_io, root = written.warehouse.file_io, written.warehouse.root
    (path, *_) = [entry.path for entry in file_io.list(f"{root}/_jobs")]
    file_io.write_bytes(path, b"{}")
    service = Service(written)
    status, condition, message = service.refused("/v1/jobs")
    assert (status, condition) == (500, "TABLE_STORE_CORRUPT_FILE")
    assert path in message
    ready = service.client.get("/ready")
    assert (ready.status_code, ready.json()) == (503, {"status": "not ready"})
    assert service.client.get("/health").status_code == 200


def test_an_empty_warehouse(warehouse: Warehouse) -> None:
    service = Service(WrittenTopology(warehouse))
    told = service.told("/v1/topology")
    assert (told["barrier"], told["readableBarrier"], told["tables"]) == (None, None, [])


def test_a_look_serves_many(written: WrittenTopology) -> None:
    observer = Observer(written.warehouse, kept_seconds=60)
    first = observer.now()
    assert observer.now() is first
    written.cut(30, "r")
    again = Observer(written.warehouse, kept_seconds=0)
    numbers = []
    for number in (40, 50):
        written.cut(number, "r")
        again.until = 0.0
        numbers.append([one.number for one in again.now().barriers.newest_first()])
    assert numbers == [[40, 30, 20, 10], [50, 40, 30, 20, 10]]
