"""Goal: a secret that an option names is found where it is used, or it is said what is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from table_store.storage.file_store.model.schema import Field, new_schema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.types import INTEGER
from table_store.storage.log_store.kafka.kafka_client_settings import client_settings
from table_store.storage.log_store.log_settings import KafkaSettings
from table_store.storage.log_store.secret_reference import resolved

_KEY = "log.kafka.sasl.plain.password"


def test_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OURS", "s3cret")
    assert client_settings({"sasl.plain.password": "${secret:env:OURS}"}) == {
        "sasl_plain_password": "s3cret"
    }


def test_a_file_is_read_each_time(tmp_path: Path) -> None:
    """So that a password can be changed without a word to the table."""
    file = tmp_path / "the password"
    for text in ("one", "two words\n", "ünï\r\n"):
        file.write_bytes(text.encode())
        assert resolved(_KEY, f"${{secret:file:{file}}}") == text.rstrip("\r\n")


def test_a_literal_stands_for_itself() -> None:
    assert resolved(_KEY, "s3cret $x") == "s3cret $x"


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("${secret:env:NOT_THERE}", "environment variable NOT_THERE is not set"),
        ("${secret:env:EMPTY}", "empty"),
        (
            "${secret:file:/no/such/file}",
            r"file '/no/such/file' cannot be read \(FileNotFoundError",
        ),
        ("${env:HOME}", r"\$\{secret:env:NAME\} or \$\{secret:file:/path\}"),
        ("${secret:vault:x}", r"\$\{secret:env:NAME\}"),
    ],
)
def test_what_is_missing_is_named(value: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_THERE", raising=False)
    monkeypatch.setenv("EMPTY", "")
    with pytest.raises(InvalidOptionError, match=said) as caught:
        client_settings({"sasl.plain.password": value})
    assert _KEY in str(caught.value)


def test_settings_do_not_print_the_client() -> None:
    """As they would in the message of an error that quotes them."""
    options = {_KEY: "s3cret", "log.kafka.bootstrap.servers": "a:1", "log.kafka.topic": "t"}
    fields = (Field(id=0, name="a", type=INTEGER),)
    schema = new_schema(fields=fields, options=options, time_ms=0)
    settings = KafkaSettings.of(schema)
    assert settings is not None
    assert settings.client == {"sasl.plain.password": "s3cret"}
    assert "s3cret" not in repr(settings)
