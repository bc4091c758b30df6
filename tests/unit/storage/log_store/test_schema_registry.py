"""Goal: schemas and their ids come from a registry, and what it does not give has a name."""

from __future__ import annotations

import json
import socketserver
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from servers.kafka_broker import free_port
from servers.schema_registry import SchemaRegistryServer, running_registry
from table_store.storage.formats.avro_schema import AvroField, AvroPrimitive, AvroRecord
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store import schema_registry
from table_store.storage.log_store.log_errors import (
    SchemaRegistryRefusedError,
    SchemaRegistryUnavailableError,
)
from table_store.storage.log_store.schema_registry import SchemaRegistry, check_url
from table_store.storage.log_store.tls_stores import TlsStores
from tests.fakes.certificates import PASSWORD, new_authority, signed

SCHEMA = '{"type": "record", "name": "r", "fields": [{"name": "x", "type": "int"}]}'
PARSED = AvroRecord((AvroField("x", AvroPrimitive("int")),))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SchemaRegistryServer]:
    monkeypatch.setattr(schema_registry, "_PAUSE_S", 0.0)
    with running_registry() as found:
        yield found


def test_a_schema_is_asked_for_once(server: SchemaRegistryServer) -> None:
    number = server.add("s", SCHEMA)
    registry = SchemaRegistry(server.url + "/")
    assert [registry.schema(number) for _ in range(3)] == [PARSED] * 3
    assert registry.schema(77) is None
    assert registry.schema(77) is None
    assert server.requests == [f"GET /schemas/ids/{number}", "GET /schemas/ids/77"]


def test_a_schema_is_registered_once(server: SchemaRegistryServer) -> None:
    registry = SchemaRegistry(server.url)
    with pytest.raises(SchemaRegistryRefusedError, match="has no such schema"):
        registry.id_of("a/b", SCHEMA, registers=False)
    number = registry.id_of("a/b", SCHEMA, registers=True)
    assert server.subjects == {"a/b": [number]}
    assert registry.id_of("a/b", SCHEMA, registers=True) == number
    assert SchemaRegistry(server.url + "/").id_of("a/b", SCHEMA, registers=False) == number
    with pytest.raises(SchemaRegistryRefusedError, match="422 Invalid schema"):
        registry.id_of("a/b", '"no type"', registers=True)
    assert server.requests == [
        "POST /subjects/a%2Fb",
        "POST /subjects/a%2Fb/versions",
        "POST /subjects/a%2Fb",
        "POST /subjects/a%2Fb/versions",
    ]


def test_schemas_that_refer_to_others(server: SchemaRegistryServer) -> None:
    server.add("x", '{"type": "fixed", "name": "n.X", "size": 3}')
    reference = {"name": "n.X", "subject": "x", "version": 1}
    middle = {"type": "record", "name": "n.M", "fields": [{"name": "x", "type": "X"}]}
    server.add("m", middle, references=[reference])
    outer = {"type": "array", "items": "n.M"}
    number = server.add("o", outer, references=[{"name": "n.M", "subject": "m", "version": 1}])
    found = SchemaRegistry(server.url).schema(number)
    assert found is not None
    assert found.shown() == "array of record"
    gone = server.add("g", outer, references=[{"name": "n.M", "subject": "m", "version": 9}])
    with pytest.raises(ValueError, match="refers to 'm', which the registry lacks"):
        SchemaRegistry(server.url).schema(gone)
    other = server.add("j", "{}", schemaType="JSON")
    with pytest.raises(ValueError, match=f"with id {other}, is JSON"):
        SchemaRegistry(server.url).schema(other)


def test_who_is_let_in(server: SchemaRegistryServer, monkeypatch: pytest.MonkeyPatch) -> None:
    number = server.add("s", SCHEMA)
    server.require_user("ann", "p:ä")
    with pytest.raises(SchemaRegistryRefusedError, match="401 Unauthorized"):
        SchemaRegistry(server.url).schema(number)
    with pytest.raises(SchemaRegistryRefusedError, match="401") as error:
        SchemaRegistry(server.url, "ann:wrong").schema(number)
    assert "wrong" not in str(error.value) + repr(SchemaRegistry(server.url, "ann:wrong", "t0ken"))
    monkeypatch.setenv("REGISTRY_USER", "ann:p:ä")
    assert SchemaRegistry(server.url, "${secret:env:REGISTRY_USER}").schema(number) == PARSED
    in_url = server.url.replace("//", "//ann:p%3A%C3%A4@")
    assert SchemaRegistry(in_url).schema(number) == PARSED
    server.needs = "Bearer t0ken"
    assert SchemaRegistry(server.url + "//", None, "t0ken").schema(number) == PARSED


def test_it_asks_again_and_others(server: SchemaRegistryServer) -> None:
    number = server.add("s", SCHEMA)
    server.failures = 2
    assert SchemaRegistry(server.url).schema(number) == PARSED
    silent = f"http://127.0.0.1:{free_port()}"
    assert SchemaRegistry(f"{silent}, {server.url}").schema(number) == PARSED
    server.failures = 100
    with pytest.raises(SchemaRegistryUnavailableError, match="503 Not now") as error:
        SchemaRegistry(server.url + "//").schema(number)
    assert error.value.retriable
    with pytest.raises(SchemaRegistryUnavailableError, match="refused") as error:
        SchemaRegistry(silent.replace("//", "//ann:secret@")).schema(number)
    assert "secret" not in str(error.value)


def test_what_is_no_registry(server: SchemaRegistryServer) -> None:
    with pytest.raises(SchemaRegistryRefusedError, match="404"):
        SchemaRegistry(server.url + "/wrong").schema(1)
    server.schemas.append(json.loads('{"schema": 7}'))
    with pytest.raises(ValueError, match="a type 7"):
        SchemaRegistry(server.url).schema(1)


@contextmanager
def answering(answer: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """A server that says the same to all, with what it was asked."""
    asked: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            asked.append(self.request.recv(65_536))
            self.request.sendall(answer)

    with socketserver.TCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
        server.shutdown()


@pytest.mark.parametrize(
    "answer",
    [
        b'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{"sch',
        b'HTTP/1.1 503 No\r\nContent-Length: 500\r\n\r\n{"sch',
        b"HTTP/1.1 429 Slower\r\nContent-Length: 0\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n" + b"[" * 100_000,
        b"",
    ],
    ids=["cut", "cut error", "busy", "another service", "deep", "nothing"],
)
def test_an_answer_that_is_none(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Jobs wait until another one comes."""
    monkeypatch.setattr(schema_registry, "_PAUSE_S", 0.0)
    with (
        answering(answer) as (url, asked),
        pytest.raises(SchemaRegistryUnavailableError) as error,
    ):
        SchemaRegistry(url).schema(1)
    assert error.value.retriable
    assert len(asked) == 3


def test_redirects(server: SchemaRegistryServer) -> None:
    """Within a server they are followed; another one gets neither password nor trust."""
    number = server.add("s", SCHEMA)
    target = f"{server.url}/schemas/ids/{number}"
    moved = f"HTTP/1.1 302 There\r\nLocation: {target}\r\nContent-Length: 0\r\n\r\n"
    with (
        answering(moved.encode()) as (url, _),
        pytest.raises(SchemaRegistryRefusedError, match=r"sends to 127\.0\.0\.1"),
    ):
        SchemaRegistry(url, "ann:secret").schema(number)
    assert server.requests == []


@pytest.mark.parametrize("token", ["first\nsecond", "hidden\r\nX: y", "tökén"])
def test_a_token_that_is_none_is_not_shown(token: str) -> None:
    with pytest.raises(InvalidOptionError, match=r"bearer-auth\.token") as error:
        SchemaRegistry("http://127.0.0.1:9", None, token).schema(1)
    assert token.split()[0] not in str(error.value)


def test_what_is_not_read_is_not_asked_for_again(server: SchemaRegistryServer) -> None:
    numbers = [
        server.add("p", "{}", schemaType="PROTOBUF"),
        server.add("q", SCHEMA, references=7),
        server.add("q", SCHEMA, references=[{"subject": "x"}]),
    ]
    registry = SchemaRegistry(server.url)
    for number in numbers * 3:
        with pytest.raises(ValueError, match=r"PROTOBUF|to which others"):
            registry.schema(number)
    assert len(server.requests) == len(numbers)


@pytest.mark.parametrize(
    "url",
    ["host:8081", "ftp://host", "http://", "", "http://a, b", "http://a:x", "http://u:p w@a"],
)
def test_addresses_that_are_none(url: str) -> None:
    assert "http://host:8081" in (check_url(url, "x") or "")
    assert check_url("http://host:8081,https://ann:pw@other/path", "x") is None


@pytest.mark.parametrize("kind", ["pem", "p12"])
def test_tls(tmp_path: Path, kind: str) -> None:
    """The registry shows who it is, and asks who comes."""
    authority = new_authority(tmp_path)
    server, client = (signed(authority, tmp_path, name) for name in ("registry", "client"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server.pem, password=PASSWORD)
    context.load_verify_locations(authority.pem)
    context.verify_mode = ssl.CERT_REQUIRED
    if kind == "pem":
        # As others write such files: with text around what counts.
        for file in (authority.pem, client.pem):
            text = "\n# Főtanúsítvány\nBag Attributes: none\n" + file.read_text()
            file.write_text(text + "# the end\n", encoding="utf-8")
    trusted = authority.pem if kind == "pem" else authority.p12
    own = client.pem if kind == "pem" else client.p12
    trust_password = None if kind == "pem" else PASSWORD
    whole = TlsStores(str(trusted), trust_password, str(own), PASSWORD)
    with running_registry(context=context) as registry:
        number = registry.add("s", SCHEMA)
        assert SchemaRegistry(registry.url, stores=whole).schema(number) == PARSED
        for other, reason in (
            (TlsStores(), "certificate verify failed"),
            (
                replace(whole, keystore=None, keystore_password=None),
                "(?i)certificate required|closed|reset|EOF",
            ),
        ):
            with pytest.raises(SchemaRegistryUnavailableError, match=reason):
                SchemaRegistry(registry.url, stores=other).schema(number + 1)
        missing = str(tmp_path / "missing")
        (tmp_path / "store.jks").write_bytes(bytes.fromhex("feedfeed00000002"))
        for other, option, reason in (
            (replace(whole, keystore_password="wrong"), "keystore", "this file cannot be used"),
            (replace(whole, keystore=missing), "keystore", "No such file"),
            (replace(whole, truststore=missing), "truststore", "No such file"),
            (replace(whole, truststore=f"{tmp_path}/store.jks"), "truststore", "deststoretype"),
            (replace(whole, truststore=__file__), "truststore", "neither PEM nor PKCS #12"),
        ):
            with pytest.raises(InvalidOptionError, match=reason) as error:
                SchemaRegistry(registry.url, stores=other, prefix="f").schema(number + 1)
            assert f"'f.ssl.{option}.location'" in str(error.value)
            assert PASSWORD not in str(error.value) + repr(other)
