"""Goal: one rule says what is secret: for options, errors, statements, and in Spark's settings."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import table_store.conf
from table_store.spark_defaults import properties
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.secrets import (
    REDACTED,
    SECRET_TEXT,
    SECRET_WORDS,
    asked_for,
    is_secret,
    reference,
    shown_value,
)
from table_store.storage.options.options import OptionScope
from table_store.storage.options.table_options import TABLE_OPTIONS

_KEY = "log.kafka.sasl.plain.password"


def shown_text(text: str) -> str:
    """Return a text as Spark shows it, given the pattern as a setting."""
    return re.sub(SECRET_TEXT, REDACTED, text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (_KEY, "x"),
        ("log.kafka.sasl-plain-password", "x"),
        ("log.kafka.ssl.password", "x"),
        ("log.kafka.proxy.url", "socks5://user:x@host"),
        ("log.kafka.socks5_proxy", "x"),
        ("client.ssl.key.password", "x"),
        ("client.sasl.jaas.config", "x"),
        ("client.api-key", "x"),
        ("client.sasl", 'User password="x"'),
        ("log.kafka.bootstrap.servers", "sasl://user:x@host:1"),
    ],
)
def test_secrets_are_not_shown(key: str, value: str) -> None:
    assert is_secret(key, value)
    assert shown_value(key, value) == REDACTED


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("log.key.format", "json"),
        ("log.kafka.topic", "token-events"),
        ("log.kafka.ssl.keyfile", "/etc/key.pem"),
        ("log.kafka.sasl.plain.username", "writer"),
        ("log.kafka.bootstrap.servers", "a:9092,b:9092"),
        ("file.path", "s3://bucket/secrets"),
        (_KEY, "${secret:env:KAFKA_PASSWORD}"),
        ("x", None),
    ],
)
def test_all_else_is_shown(key: str, value: str | None) -> None:
    assert shown_value(key, value) == value


def test_of_the_declared_options_only_passwords_and_tokens_are_secrets() -> None:
    secrets = {option.key for option in TABLE_OPTIONS if is_secret(option.key)}
    registry = [
        f"{name}.{key}"
        for name in ("avro-confluent", "debezium-avro-confluent")
        for key in (
            "basic-auth.user-info",
            "bearer-auth.token",
            "ssl.keystore.password",
            "ssl.truststore.password",
        )
    ]
    of_parts = {f"{part}{key}" for part in ("", "key.", "value.") for key in registry}
    of_parts -= {key for key in of_parts if key.startswith("key.debezium")}
    assert secrets == {"password", *of_parts}


def test_errors_do_not_tell_values_of_secrets() -> None:
    error = InvalidOptionError(key=_KEY, value="s3cret", reason="no")
    assert "s3cret" not in str(error)
    assert error.value == REDACTED


def test_what_is_shown_is_no_secret_to_give() -> None:
    """Who copies the output of DESCRIBE into a statement is told, not left with that password."""
    with pytest.raises(InvalidOptionError, match="shown in place of a secret"):
        TABLE_OPTIONS.parse({_KEY: REDACTED}, OptionScope.TABLE)


def test_what_asks_for_a_secret_is_a_reference() -> None:
    assert reference(asked_for(_KEY)) == ("env", "TABLE_STORE_LOG_KAFKA_SASL_PLAIN_PASSWORD")
    assert reference("${secret:file:/run/kafka password}") == ("file", "/run/kafka password")
    for text in ("${env:HOME}", "${secret:env:}", "${secret:env:A}B", "x", "", "${secret:vault:a}"):
        assert reference(text) is None


TEXTS = [
    "CREATE TABLE a (id INT) WITH ('{key}' = {quoted}, 'bucket' = '2')",
    "CREATE TABLE a (id INT) TBLPROPERTIES ({key}={quoted})",
    "ALTER TABLE a SET TBLPROPERTIES ('{key}'={quoted})",
    "SET 'table-storage.{key}' = {quoted}",
]


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.sampled_from(TEXTS))
def test_statements_are_shown_without_secrets(inside: str, text: str) -> None:
    """Whatever quotes, breaks and escapes a password is made of; what comes after it stays."""
    secret = f"pl4nted{inside}"
    for quote in "'\"":
        literal = quote + secret.replace("\\", "\\\\").replace(quote, quote * 2) + quote
        shown = shown_text(text.format(key=_KEY, quoted=literal))
        assert "pl4nted" not in shown
        assert (
            shown
            == text.replace("table-storage.", "").partition("{key}")[0]
            + REDACTED
            + (text.partition("{quoted}")[2])
        )


@pytest.mark.parametrize(
    "text",
    [
        "SET table-storage.log.kafka.sasl.plain.password = pl4nted and more",
        "[SET PROPERTY log.kafka.sasl.plain.password = pl4nted, with; all]",
        "TableSpec(Map(log.kafka.socks5.proxy -> socks5://user:pl4nted@host))",
        "unresolvedtablespec((log.kafka.proxy_url,pl4nted))",
    ],
)
def test_plans_are_shown_without_secrets(text: str) -> None:
    assert "pl4nted" not in shown_text(f"before\n{text}\nafter")
    assert shown_text(f"before\n{text}\nafter").startswith("before\n")
    assert shown_text(f"before\n{text}\nafter").endswith("\nafter")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT token, password FROM users WHERE token = other.token",
        "SELECT 'password' AS a, 'b'",
        "Filter (token#12 = abc)",
        "CREATE TABLE a (password STRING COMMENT 'hashed') WITH ('log.kafka.topic' = 'x')",
    ],
)
def test_other_statements_are_shown_whole(text: str) -> None:
    assert shown_text(text) == text


def test_users_in_addresses_are_not_shown() -> None:
    text = "WITH ('avro-confluent.url' = 'http://ann:pl4nted@host:8081', 'path' = 's3://b/x@y:z')"
    shown = shown_text(text)
    assert "ann" not in shown
    assert "pl4nted" not in shown
    assert "host:8081" in shown
    assert "s3://b/x@y:z" in shown


def test_sparks_settings_say_the_same() -> None:
    """Its properties file takes a backslash for the start of an escape."""
    defaults = Path(table_store.conf.__file__).parent / "spark-defaults.conf"
    settings = properties(defaults.read_text(encoding="utf-8"))
    assert settings["spark.redaction.regex"] == f"(?i){SECRET_WORDS}"
    assert settings["spark.sql.redaction.string.regex"].replace("\\\\", "\\") == SECRET_TEXT
