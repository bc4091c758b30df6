"""A schema registry: which schema has an id, and the id of a schema.

Source: the REST API of Confluent's Schema Registry, as also Karapace and Apicurio have it. A
message begins with the byte 0 and the id, four bytes, the most significant first.
"""

from __future__ import annotations

import base64
import threading
import time
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from table_store.storage.formats.avro_schema import AvroType, parse_avro_schema
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.log_store.log_errors import (
    SchemaRegistryRefusedError,
    SchemaRegistryUnavailableError,
)
from table_store.storage.log_store.registry_connection import (
    AWAY,
    RegistryConnection,
    RegistryRefusedError,
)
from table_store.storage.log_store.secret_reference import resolved
from table_store.storage.log_store.tls_stores import TlsStores
from table_store.storage.options.avro_format_options import CONFLUENT

T = TypeVar("T")

MAGIC_BYTE: Final = 0
HEAD_BYTES: Final = 5
"""In front of the record: `MAGIC_BYTE` and the id."""

_ATTEMPTS: Final = 3
_PAUSE_S: Final = 0.2
_ABSENT_KEPT_S: Final = 10.0
_HELD_MAX: Final = 10_000
_REFERENCES_DEEP_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class HeldSchemas:
    """What registries have answered: a schema has its id for ever.

    Attributes:
        schemas: by the registry's address and the id.
        absent: until when there is none with an id, or why it is not read until then.
        ids: by the address, subject and schema.
        lock: for all of them.
        clock: in seconds.
    """

    schemas: dict[tuple[str, int], AvroType] = field(default_factory=dict)
    absent: dict[tuple[str, int], tuple[float, str | None]] = field(default_factory=dict)
    ids: dict[tuple[str, str, str], int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    clock: Callable[[], float] = time.monotonic

    def put(self, held: dict[Any, T], key: Any, value: T) -> None:
        """Hold an answer; what has become too many begins anew."""
        with self.lock:
            if len(held) >= _HELD_MAX:
                held.clear()
            held[key] = value


_HELD: Final = HeldSchemas()


@dataclass(frozen=True, slots=True)
class SchemaRegistry:
    """A registry, as an option names it.

    Attributes:
        url: of it; several with commas between them.
        user_info: `user:password`, or where that is; None: it is in the URL, or nothing is needed.
        token: the same of a bearer's token.
        stores: whom to trust by HTTPS, and who this is.
        prefix: of the options that say all this, for messages.
    """

    url: str
    user_info: str | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    stores: TlsStores = field(default_factory=TlsStores)
    prefix: str = CONFLUENT

    def schema(self, number: int) -> AvroType | None:
        """Return the schema with an id; None if there is none.

        Raises:
            ValueError: it is none of Avro.
            SchemaRegistryUnavailableError: the registry does not answer.
            SchemaRegistryRefusedError: it refuses.
        """
        key = (self.url, number)
        found = _HELD.schemas.get(key)
        if found is not None:
            return found
        until, reason = _HELD.absent.get(key, (0.0, None))
        if until > _HELD.clock():
            if reason is not None:
                raise ValueError(reason)
            return None
        until = _HELD.clock() + _ABSENT_KEPT_S
        answer = self._asked(f"/schemas/ids/{number}", f"give the schema with id {number}")
        if answer is None:
            _HELD.put(_HELD.absent, key, (until, None))
            return None
        try:
            if answer.get("schemaType", "AVRO") != "AVRO":
                raise ValueError(f"its schema, with id {number}, is {answer['schemaType']}")
            found = parse_avro_schema(str(answer.get("schema")), self._named(answer, 0))
        except ValueError as error:
            _HELD.put(_HELD.absent, key, (until, str(error)))
            raise
        _HELD.put(_HELD.schemas, key, found)
        return found

    def id_of(self, subject: str, schema: str, *, registers: bool) -> int:
        """Return the id of a schema; with `registers` it gets one if it has none.

        Raises:
            SchemaRegistryUnavailableError: the registry does not answer.
            SchemaRegistryRefusedError: it refuses, or has no such schema.
        """
        key = (self.url, subject, schema)
        found = _HELD.ids.get(key)
        if found is not None:
            return found
        path = f"/subjects/{urllib.parse.quote(subject, safe='')}"
        action = f"register the schema of {subject!r}" if registers else f"find that of {subject!r}"
        path = f"{path}/versions" if registers else path
        answer = self._asked(path, action, {"schema": schema})
        if answer is None or not isinstance(answer.get("id"), int):
            reason = "it has no such schema; register it, or let 'auto.register.schemas' be true"
            raise SchemaRegistryRefusedError(url=self._shown, action=action, reason=reason)
        found = int(answer["id"])
        _HELD.put(_HELD.ids, key, found)
        return found

    def _named(self, answer: Mapping[str, Any], depth: int) -> list[str]:
        """Return the schemas to which one refers, each behind those to which it refers itself."""
        found: list[str] = []
        references = answer.get("references") or []
        if not isinstance(references, list):
            references = [references]
        if references and depth == _REFERENCES_DEEP_MAX:
            raise ValueError("its schema refers to others too deeply")
        for reference in references:
            try:
                subject, version = str(reference["subject"]), int(reference["version"])
            except (TypeError, KeyError, ValueError):
                raise ValueError("it is not told to which others its schema refers") from None
            path = f"/subjects/{urllib.parse.quote(subject, safe='')}/versions/{version}"
            other = self._asked(path, f"give version {version} of {subject!r}")
            if other is None:
                raise ValueError(f"its schema refers to {subject!r}, which the registry lacks")
            found += [*self._named(other, depth + 1), str(other.get("schema"))]
        return found

    @property
    def _shown(self) -> str:
        """The address as a message may name it."""
        return ", ".join(_without_user(part)[0] for part in self._addresses)

    @property
    def _addresses(self) -> list[str]:
        return [part.strip().rstrip("/") for part in self.url.split(",") if part.strip()]

    def _asked(
        self, path: str, action: str, content: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """Return an answer; None: there is no such schema."""
        reason = "no address is given"
        for attempt in range(_ATTEMPTS):
            if attempt:
                time.sleep(_PAUSE_S * 2**attempt)
            for address in self._addresses:
                try:
                    return self._connection(address).answer(path, content)
                except RegistryRefusedError as error:
                    raise SchemaRegistryRefusedError(
                        url=self._shown, action=action, reason=str(error)
                    ) from None
                except InvalidOptionError:
                    raise
                except AWAY as error:
                    reason = str(error) or type(error).__name__
        raise SchemaRegistryUnavailableError(url=self._shown, action=action, reason=reason)

    def _connection(self, address: str) -> RegistryConnection:
        plain, user_info = _without_user(address)
        authorization = None
        if self.token is not None:
            key = f"{self.prefix}.bearer-auth.token"
            token = resolved(key, self.token)
            if not (token.isascii() and token.isprintable()):
                reason = "it has a line break or another character that no such header may have"
                raise InvalidOptionError(key=key, value=None, reason=reason)
            authorization = f"Bearer {token}"
        elif self.user_info is not None or user_info:
            given = user_info
            if self.user_info is not None:
                given = resolved(f"{self.prefix}.basic-auth.user-info", self.user_info)
            authorization = f"Basic {base64.b64encode(given.encode()).decode()}"
        context = self.stores.context(self.prefix) if plain.startswith("https:") else None
        return RegistryConnection(plain, authorization, context)


def check_url(url: str, key: str) -> str | None:
    """Return what is wrong with the address of a registry in an option; None: nothing."""
    parts = [part.strip() for part in url.split(",")]
    for part in parts:
        try:
            found = urllib.parse.urlsplit(part)
            is_right = found.scheme in ("http", "https") and bool(found.hostname)
            is_right = is_right and part.isprintable() and " " not in part
            _ = found.port
        except ValueError:
            is_right = False
        if not is_right:
            return f"use an address such as http://host:8081 for {key!r}"
    return None


def _without_user(address: str) -> tuple[str, str]:
    """Return an address without user and password, and these."""
    found = urllib.parse.urlsplit(address)
    user, at, host = found.netloc.rpartition("@")
    plain = urllib.parse.urlunsplit(found._replace(netloc=host))
    return plain, urllib.parse.unquote(user) if at else ""
