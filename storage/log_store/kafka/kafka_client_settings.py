"""The properties that users give to Kafka's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka import KafkaAdminClient, KafkaConsumer

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.secret_reference import resolved
from table_store.storage.options.log_options import LOG_KAFKA

_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_BY_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_OURS: Final = (
    *("bootstrap_servers", "bootstrap_timeout_ms", "request_timeout_ms", "client_id"),
    "kafka_client",
)


def client_settings(
    properties: Mapping[str, str], prefix: str = LOG_KAFKA.prefix
) -> dict[str, Any]:
    """Return client properties (`sasl.mechanism`) as arguments of the client library.

    `prefix` is that of the options which give them, for messages.

    Raises:
        InvalidOptionError: the library has no such property, the value is not of its type, or the
            secret that it names cannot be read.
    """
    known = {**KafkaConsumer.DEFAULT_CONFIG, **KafkaAdminClient.DEFAULT_CONFIG}
    settings = {}
    for key, text in properties.items():
        name = key.replace(".", "_").replace("-", "_")
        option = f"{prefix}{key}"
        if name not in known or name in _OURS:
            raise InvalidOptionError(
                key=option, value=None, reason="the Kafka client has no such property"
            )
        settings[name] = _typed(option, resolved(option, text), known[name])
    _check_security(settings, prefix)
    return settings


def _check_security(settings: Mapping[str, Any], prefix: str) -> None:
    """Check the settings that say who the user is, because the client's own error is unclear."""
    protocol = settings.get("security_protocol", _PROTOCOLS[0])
    if protocol not in _PROTOCOLS:
        raise _bad_property(prefix, "security_protocol", f"use {', '.join(_PROTOCOLS)}")
    if not protocol.startswith("SASL_"):
        return
    mechanism = settings.get("sasl_mechanism")
    needed = ["sasl_mechanism"]
    if mechanism in _BY_PASSWORD:
        needed += ["sasl_plain_username", "sasl_plain_password"]
    for name in needed:
        if name not in settings:
            raise _bad_property(prefix, name, f"{protocol} needs it")


def _bad_property(prefix: str, name: str, reason: str) -> InvalidOptionError:
    key = f"{prefix}{name.replace('_', '.')}"
    return InvalidOptionError(key=key, value=None, reason=reason)


def _typed(option: str, text: str, default: Any) -> Any:
    try:
        if isinstance(default, bool):
            return {"true": True, "false": False}[text.strip().lower()]
        return int(text) if isinstance(default, int) else text
    except (KeyError, ValueError):
        wanted = "true or false" if isinstance(default, bool) else "a whole number"
        raise InvalidOptionError(key=option, value=None, reason=f"use {wanted}") from None
