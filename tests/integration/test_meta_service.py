"""Goal: the process of the service begins, ends and dies in order, and only as it may.

Method: the command itself, over warehouses that plain Python has written.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from table_store.catalog.names.warehouse import Warehouse
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.ids import RandomIds
from tests.fakes.written_topology import WrittenTopology
from tests.servers.meta_service import COMMAND, meta_service

TOKEN = "a-token-that-is-long-enough"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("service") / "warehouse")
    made = WrittenTopology(Warehouse(LocalFileIO(path), path, SystemClock(), RandomIds()))
    made.write("r")
    made.epoch("a", made.cut(SystemClock().now_ms(), "r"), r=1)
    made.told("a", 10, SystemClock().now_ms(), 5)
    return path


def answers(address: str) -> list[Any]:
    """What is told of the warehouse, but for times that go on."""
    found = []
    for path in ("v1/topology", "v1/barriers", "v1/progress", "v1/versions?table=a&table=r"):
        with urllib.request.urlopen(f"{address}{path}", timeout=20) as response:
            answer = json.loads(response.read())
            del answer["observedMs"]
            found.append(answer)
    return found


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_good_order(root: str, number: signal.Signals) -> None:
    with meta_service(root) as (process, address):
        assert answers(address)
        process.send_signal(number)
        assert process.wait(20) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_nothing_is_lost_with_it(root: str) -> None:
    with meta_service(root) as (process, address):
        before = answers(address)
        process.kill()
    with meta_service(root) as (_, address), meta_service(root) as (_, other):
        assert answers(address) == answers(other) == before
    assert before[0]["tables"][1]["name"] == "default.a"


def test_a_token_and_tls(root: str, tmp_path: Path) -> None:
    certificate, key, token = tmp_path / "c.pem", tmp_path / "k.pem", tmp_path / "token"
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl")
    subprocess.run(
        [
            *(openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"),
            *("-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate),
        ],
        check=True,
        capture_output=True,
    )
    token.write_text(f"{TOKEN}\n")
    files = ("--tls-certificate", str(certificate), "--tls-key", str(key))
    # At all addresses: there the token is what keeps strangers out.
    other = ("--host", "0.0.0.0", "--token-file", str(token))
    context = ssl.create_default_context(cafile=str(certificate))
    with meta_service(root, *files, *other) as (_, address):
        assert address.startswith("https://0.0.0.0:")
        request = urllib.request.Request(f"{address.replace('0.0.0.0', '127.0.0.1')}v1/jobs")
        with pytest.raises(urllib.error.HTTPError, match="401") as caught:
            urllib.request.urlopen(request, context=context, timeout=20)
        caught.value.close()
        request.add_header("Authorization", f"Bearer {TOKEN}")
        with urllib.request.urlopen(request, context=context, timeout=20) as response:
            assert json.loads(response.read())["jobs"][0]["id"] == "a"


def test_the_log_as_json(root: str, tmp_path: Path) -> None:
    damaged = tmp_path / "warehouse"
    shutil.copytree(root, damaged)
    for file in (damaged / "_jobs").iterdir():
        file.write_bytes(b"{}")
    with meta_service(str(damaged), "--log-format", "json") as (process, address):
        with pytest.raises(urllib.error.HTTPError, match="503") as caught:
            urllib.request.urlopen(f"{address}ready", timeout=20)
        caught.value.close()
        process.terminate()
        process.wait(20)
        assert process.stderr is not None
        (line,) = process.stderr.read().splitlines()
    told = json.loads(line)
    assert (told["level"], "TABLE_STORE_CORRUPT_FILE" in told["message"]) == ("WARNING", True)


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (["--warehouse", "{folder}/none"], ["TABLE_STORE_NOT_FOUND", "none' does not exist"]),
        (["--warehouse", "none"], ["TABLE_STORE_PATH_NOT_ALLOWED"]),
        (["--host", "0.0.0.0"], ["TABLE_STORE_SERVICE_SETTINGS", "there is no token"]),
        (["--host", "no.such.host.invalid"], ["cannot listen at no.such.host.invalid"]),
        (["--port", "99999"], ["port 99999"]),
        (["--token-file", "{folder}/short"], ["16 or more", "openssl rand"]),
        (["--token-file", "{folder}/none"], ["none: No such file"]),
        (["--tls-key", "{folder}/short"], ["certificate and its key"]),
        (
            ["--tls-key", "{folder}/short", "--tls-certificate", "{folder}/short"],
            ["are no certificate and its key"],
        ),
    ],
)
def test_what_is_refused(root: str, tmp_path: Path, arguments: list[str], texts: list[str]) -> None:
    (tmp_path / "short").write_text("short")
    given = [argument.format(folder=tmp_path) for argument in arguments]
    done = subprocess.run(
        [*COMMAND, "--port", "0", "--warehouse", root, *given],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1, done
    assert all(text in done.stderr for text in texts), done.stderr
    assert "Traceback" not in done.stderr
    assert "SQLSTATE: " in done.stderr


def test_who_sends_no_whole_request_is_cut_off(root: str) -> None:
    with meta_service(root) as (_, address):
        port = int(address.rstrip("/").rpartition(":")[2])
        head = b"GET /health HTTP/1.1\r\nHost: localhost\r\n"
        unfinished = (b"", head, head + b"\r\n" + head, head + b"Content-Length: 9\r\n\r\n1")
        begin = time.monotonic()
        slow = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in unfinished]
        for connection, part in zip(slow, unfinished, strict=True):
            connection.sendall(part)
        for connection in slow:
            with connection:
                while connection.recv(4096):
                    pass
        assert 2 < time.monotonic() - begin < 15
        assert answers(address)


def test_a_port_that_is_taken(root: str) -> None:
    with meta_service(root) as (_, address):
        port = address.rstrip("/").rpartition(":")[2]
        done = subprocess.run(
            [*COMMAND, "--port", "0", "--warehouse", root, "--port", port],
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 1
    assert f"port {port}" in done.stderr


def test_without_its_libraries(root: str) -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from table_store.cli import main\n"
        f"sys.exit(main(['meta-service', '--warehouse', {root!r}]))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "[TABLE_STORE_SERVICE_NOT_INSTALLED]" in done.stderr
    assert "pip install 'spark-table-store[service]'" in done.stderr


def test_nothing_else_loads_its_libraries() -> None:
    code = (
        "import sys, table_store, table_store.cli, table_store.topology\n"
        "import table_store.catalog.planner.requests\n"
        "print({'starlette', 'uvicorn', 'prometheus_client'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.stdout == "set()\n", done.stderr
