"""Goal: schemas and their ids come from a registry, and what it does not give has a name."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
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


@pytest.mark.parametrize(
    "url", ["host:8081", "ftp://host", "http://", "", "http://a, b", "http://a:x"]
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
