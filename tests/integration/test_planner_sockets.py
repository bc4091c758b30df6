"""Goal: the token goes to the planner alone, not to who took its port after it died.

A real JVM connects to a socket of the test's, which stands at the port of a planner.
"""

from __future__ import annotations

import hmac
import socket
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError

from tests.integration.plain_jvm import plain_jvm

pytestmark = pytest.mark.spark

_TOKEN = "the token of this planner"
_CHALLENGE_BYTES = 32


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    with plain_jvm() as started:
        yield started


@pytest.fixture
def planner(jvm: Any) -> Iterator[Any]:
    """A process that lives until it is told not to."""
    words = jvm.java.util.ArrayList()
    words.add("cat")
    process = jvm.java.lang.ProcessBuilder(words).start()
    yield process
    process.destroyForcibly().waitFor()


@contextmanager
def listening(jvm: Any, planner: Any) -> Iterator[tuple[socket.socket, Future[Any]]]:
    """What the JVM's connection arrives as, and what it becomes to the JVM."""
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor(1) as threads:
        address = jvm.java.net.InetAddress.getByName("127.0.0.1")
        sockets = jvm.org.apache.spark.sql.tablestore.PlannerSockets(planner, _TOKEN)
        connected = threads.submit(sockets.createSocket, address, server.getsockname()[1])
        server.settimeout(60)
        here, _ = server.accept()
        with here:
            here.settimeout(60)
            yield here, connected


def test_who_knows_the_token_is_connected(jvm: Any, planner: Any) -> None:
    with listening(jvm, planner) as (here, connected):
        challenge = here.recv(_CHALLENGE_BYTES, socket.MSG_WAITALL)
        here.sendall(hmac.digest(_TOKEN.encode(), challenge, "sha256"))
        connected.result(60).getOutputStream().write(7)
        assert here.recv(10) == b"\7"


def test_who_does_not_know_it_learns_nothing(jvm: Any, planner: Any) -> None:
    """Not from the challenge either: each is another."""
    challenges = set()
    for _ in range(2):
        with listening(jvm, planner) as (here, connected):
            challenge = here.recv(_CHALLENGE_BYTES, socket.MSG_WAITALL)
            here.sendall(hmac.digest(b"guessed", challenge, "sha256"))
            with pytest.raises(Py4JJavaError, match="another process listens"):
                connected.result(60)
            assert here.recv(100) == b"", "the connection is closed, nothing more was said"
            challenges.add(challenge)
    assert len(challenges) == 2


def test_the_silent_is_left_when_the_planner_is_dead(jvm: Any, planner: Any) -> None:
    with listening(jvm, planner) as (here, connected):
        here.recv(_CHALLENGE_BYTES, socket.MSG_WAITALL)
        planner.destroyForcibly()
        with pytest.raises(Py4JJavaError, match="SocketTimeoutException"):
            connected.result(60)
        assert here.recv(100) == b""


def test_nobody_is_asked_in_place_of_the_dead(jvm: Any, planner: Any) -> None:
    planner.destroyForcibly().waitFor()
    address = jvm.java.net.InetAddress.getByName("127.0.0.1")
    sockets = jvm.org.apache.spark.sql.tablestore.PlannerSockets(planner, _TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as server:
        with pytest.raises(Py4JJavaError, match="the planner has ended"):
            sockets.createSocket(address, server.getsockname()[1])
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()
