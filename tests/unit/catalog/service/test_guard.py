"""Goal: without the token nothing of the warehouse is told, and no request is without bounds."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

from table_store.catalog.service.answers import ANSWERS_MAX, Answers
from table_store.catalog.service.guard import LOOPBACK_NAMES
from table_store.catalog.service.observation import Observer
from table_store.catalog.service.service_errors import ServiceBusyError, ServiceTimeoutError
from table_store.catalog.service.workers import Workers
from tests.fakes.written_topology import WrittenTopology
from tests.unit.catalog.service.conftest import TOKEN, Service

OPEN = {"/health", "/ready", "/", "/static/page.js", "/static/style.css"}


@pytest.fixture(scope="module")
def guarded(only_read: WrittenTopology) -> Service:
    return Service(only_read, token=TOKEN, hosts=LOOPBACK_NAMES)


def paths(service: Service) -> list[str]:
    return [route.path for route in service.client.app.application.routes]  # type: ignore[attr-defined]


def test_only_what_tells_nothing_is_open(guarded: Service) -> None:
    assert set(paths(guarded)) >= OPEN
    for path in [*paths(guarded), "/v2", "/metrics/"]:
        response = guarded.client.get(path)
        is_open = path in OPEN or path.startswith("/static/")
        assert response.status_code == (200 if is_open else 401), path
        assert "default.a" not in response.text
    assert guarded.client.get("/v1/jobs").headers["www-authenticate"] == "Bearer"


@pytest.mark.parametrize(
    ("header", "status"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN}", 200),
        (f"Bearer {TOKEN}x", 401),
        (f"Basic {TOKEN}", 401),
        ("Bearer", 401),
        (TOKEN, 401),
    ],
)
def test_the_token(guarded: Service, header: str, status: int) -> None:
    response = guarded.client.get("/v1/jobs", headers={"Authorization": header})
    assert response.status_code == status
    assert TOKEN not in response.text


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8188", 200),
        ("127.0.0.1", 200),
        ("[::1]:8188", 200),
        ("LOCALHOST", 200),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("", 421),
    ],
)
def test_hosts(guarded: Service, host: str, status: int) -> None:
    assert guarded.client.get("/health", headers={"Host": host}).status_code == status


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/v1/jobs", b"", 405),
        ("DELETE", "/v1/jobs", b"", 405),
        ("GET", "/v1/jobs", b"x", 413),
        ("GET", f"/v1/jobs?job={'x' * 8200}", b"", 414),
        ("HEAD", "/v1/jobs", b"", 200),
    ],
)
def test_forms(service: Service, method: str, path: str, body: bytes, status: int) -> None:
    assert service.client.request(method, path, content=body).status_code == status


@pytest.mark.parametrize("path", ["/v1/jobs/pause", "/v1/jobs/resume", "/v1/jobs/refresh"])
def test_only_who_bears_a_token_gives_orders(service: Service, guarded: Service, path: str) -> None:
    open_to_all = service.client.post(path, params={"job": "a"})
    assert (open_to_all.status_code, "--token-file" in open_to_all.text) == (403, True)
    assert guarded.client.post(path, params={"job": "a"}).status_code == 401
    bears = {"Authorization": f"Bearer {TOKEN}"}
    assert guarded.client.get(path, params={"job": "a"}, headers=bears).status_code == 405
    assert guarded.client.post(path, params={"job": "a"}, headers=bears).status_code == 409
    assert guarded.client.post("/v1/jobs", headers=bears).status_code == 405


@pytest.mark.parametrize("path", ["/", "/v1/jobs", "/v1/nothing", "/metrics", "/health"])
def test_headers(service: Service, path: str) -> None:
    headers = service.client.get(path).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_the_page_needs_nothing_from_elsewhere(service: Service) -> None:
    for path in ["/", *(path for path in paths(service) if path.startswith("/static/"))]:
        text = service.client.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path
        for markup in ("innerHTML", "insertAdjacentHTML", "document.write", "eval("):
            assert markup not in text, path


def test_too_many_wait() -> None:
    workers, go_on = Workers(threads=1, waiting_max=1), threading.Event()

    async def ask() -> list[object]:
        busy = asyncio.create_task(workers.run(go_on.wait))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(workers.run(lambda: 7))
        await asyncio.sleep(0)
        with pytest.raises(ServiceBusyError, match="1 requests wait"):
            await workers.run(lambda: 8)
        go_on.set()
        return [await busy, await waiting]

    assert asyncio.run(ask()) == [True, 7]


@pytest.mark.parametrize("kept_seconds", [60, 0.1])
def test_many_who_ask_the_same_cost_one(written: WrittenTopology, kept_seconds: float) -> None:
    observer = Observer(written.warehouse, kept_seconds=kept_seconds)
    answers = Answers(observer, Workers(threads=1, waiting_max=1))
    made: list[str] = []

    def make(key: str) -> bytes:
        observer.now()
        made.append(key)
        return key.encode()

    async def ask() -> None:
        many = [answers.get("a", partial(make, "a")) for _ in range(500)]
        assert set(await asyncio.gather(*many)) == {b"a"}
        assert await answers.get("b", partial(make, "b")) == b"b"
        time.sleep(0.5)
        await answers.get("b", partial(make, "b"))

    asyncio.run(ask())
    assert made == (["a", "b"] if kept_seconds == 60 else ["a", "b", "b"])


def test_answers_are_forgotten(written: WrittenTopology) -> None:
    observer = Observer(written.warehouse, kept_seconds=60)
    observer.now()
    answers = Answers(observer, Workers(threads=1))
    made: list[int] = []

    def make(number: int) -> bytes:
        made.append(number)
        return b""

    async def ask() -> None:
        for number in (*range(ANSWERS_MAX + 1), 1, 0):
            await answers.get(str(number), partial(make, number))

    asyncio.run(ask())
    assert made == [*range(ANSWERS_MAX + 1), 0], "the oldest"


def test_a_failure_is_tried_again(written: WrittenTopology) -> None:
    answers = Answers(Observer(written.warehouse), Workers())
    tried: list[int] = []

    def fail() -> bytes:
        tried.append(1)
        raise ValueError

    async def ask() -> None:
        for _ in range(2):
            together = [answers.get("a", fail) for _ in range(5)]
            found = await asyncio.gather(*together, return_exceptions=True)
            assert [type(one) for one in found] == [ValueError] * 5

    asyncio.run(ask())
    assert len(tried) == 2


def test_storage_that_does_not_answer() -> None:
    workers, go_on = Workers(threads=1, timeout_seconds=0.05), threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        go_on.wait()
        done.append(number)

    async def ask() -> None:
        for number in (1, 2):
            with pytest.raises(ServiceTimeoutError, match=r"0\.05 s"):
                await workers.run(partial(work, number))

    asyncio.run(ask())
    go_on.set()
    end = time.monotonic() + 5
    while not done and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(0.05)
    assert done == [1], "what had not begun is left out"


def test_a_defect_is_told_without_its_trace(
    written: WrittenTopology, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(written)
    monkeypatch.setattr("table_store.catalog.service.observation.heads_of_roots", lambda _: 1 / 0)
    status, condition, message = service.refused("/v1/jobs")
    assert (status, condition) == (500, "TABLE_STORE_SERVICE_FAULT")
    assert "division" not in message
    assert "division by zero" in caplog.text
