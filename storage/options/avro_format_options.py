"""Options of `avro`, `avro-confluent` and `debezium-avro-confluent`.

Names, defaults and meanings are Flink's. The latter two have the same ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from table_store.storage.options.options import (
    BOOLEAN,
    FOR_TABLE,
    TEXT,
    Option,
    OptionType,
    one_of,
)

AVRO: Final = "avro"
CONFLUENT: Final = "avro-confluent"
DEBEZIUM_CONFLUENT: Final = "debezium-avro-confluent"
_PASSWORD: Final = (
    "The password of `….ssl.{}.location`, or `${{secret:env:NAME}}` or `${{secret:file:/path}}` in "
    "place of it."
)


AVRO_LEGACY_TIMES = Option(
    key="avro.timestamp_mapping.legacy",
    type=BOOLEAN,
    default=True,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka`, `upsert-kafka` and `filesystem` with `avro`: TIMESTAMP and TIMESTAMP_NTZ are "
    "milliseconds, and what is less than one is not written. `false`: microseconds, and only "
    "TIMESTAMP is a point in time. Whoever reads without a schema has to have the same value.",
)
AVRO_IGNORE_ERRORS = Option(
    key="avro.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka` with `avro`: the same as `json.ignore-parse-errors`.",
)
AVRO_CODEC = Option(
    key="avro.codec",
    type=one_of("null", "deflate", "snappy", "zstandard", "bzip2", "xz"),
    default="snappy",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `filesystem` with `avro`: how what is written is compressed.",
)


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """The options of a format whose schemas are in a registry; `prefix` is its name."""

    prefix: str

    @property
    def legacy_times(self) -> Option[bool]:
        """Whether times without a unit are milliseconds."""
        return self._flag(
            "timestamp_mapping.legacy",
            "The same as `avro.timestamp_mapping.legacy`, for what is written: what is read tells "
            "its unit.",
            default=True,
        )

    @property
    def ignore_errors(self) -> Option[bool]:
        """Whether bad records are left out."""
        return self._flag(
            "ignore-parse-errors",
            "The same as `json.ignore-parse-errors`; also of records with a schema that the "
            "registry does not have.",
            default=False,
        )

    @property
    def auto_register(self) -> Option[bool]:
        """Whether a schema is registered before records are written."""
        return self._flag(
            "auto.register.schemas",
            "Whether the schema is registered before records are written; else it has to be there.",
            default=True,
        )

    @property
    def url(self) -> Option[str | None]:
        """The addresses of the registry."""
        return self._text(
            "url",
            "Where the schema registry is, `http://host:8081`; several with commas between them "
            "are asked one after the other.",
        )

    @property
    def subject(self) -> Option[str | None]:
        """The name of the schema of written records."""
        return self._text(
            "subject",
            "Under which name the schema of written records is registered.",
            "the topic's name with `-value` or `-key` behind it",
        )

    @property
    def schema(self) -> Option[str | None]:
        """The schema of written records."""
        return self._text(
            "schema",
            "The schema with which records are written; it has each column as a field, and no "
            "other.",
            "the one that follows from the columns",
        )

    @property
    def basic_source(self) -> Option[str | None]:
        """Where user and password are."""
        return self._text(
            "basic-auth.credentials-source",
            "Whether user and password for the registry are in `….basic-auth.user-info`, or in "
            "the URL.",
            "`USER_INFO` if that is given, else `URL`",
            one_of("user_info", "url"),
        )

    @property
    def user_info(self) -> Option[str | None]:
        """User and password."""
        return self._text(
            "basic-auth.user-info",
            "`user:password` for the registry, or `${secret:env:NAME}` or `${secret:file:/path}` "
            "in place of it.",
        )

    @property
    def bearer_source(self) -> Option[str | None]:
        """Where the token is."""
        return self._text(
            "bearer-auth.credentials-source",
            "That the registry takes `….bearer-auth.token`.",
            "`STATIC_TOKEN` if a token is given",
            one_of("static_token"),
        )

    @property
    def bearer_token(self) -> Option[str | None]:
        """The token."""
        return self._text(
            "bearer-auth.token",
            "The token for the registry, or `${secret:env:NAME}` or `${secret:file:/path}` in "
            "place of it.",
        )

    @property
    def truststore(self) -> Option[str | None]:
        """The file with the certificates that are trusted."""
        return self._text(
            "ssl.truststore.location",
            "A file, in PEM or PKCS #12, with the certificates by which the registry is known. "
            "Driver and workers read it.",
            "those that Python trusts",
        )

    @property
    def truststore_password(self) -> Option[str | None]:
        """Its password."""
        return self._text("ssl.truststore.password", _PASSWORD.format("truststore"))

    @property
    def keystore(self) -> Option[str | None]:
        """The file with the client's own key."""
        return self._text(
            "ssl.keystore.location",
            "A file, in PEM or PKCS #12, with the key and the certificate that the registry asks "
            "for.",
            "no key is shown",
        )

    @property
    def keystore_password(self) -> Option[str | None]:
        """Its password."""
        return self._text("ssl.keystore.password", _PASSWORD.format("keystore"))

    def declared(self) -> tuple[Option[Any], ...]:
        """Return all of them."""
        return (
            self.legacy_times,
            self.ignore_errors,
            self.auto_register,
            self.url,
            self.subject,
            self.schema,
            self.basic_source,
            self.user_info,
            self.bearer_source,
            self.bearer_token,
            self.truststore,
            self.truststore_password,
            self.keystore,
            self.keystore_password,
        )

    def _text(
        self,
        key: str,
        doc: str,
        derived_default: str | None = None,
        kind: OptionType[str] = TEXT,
    ) -> Option[str | None]:
        return Option(
            key=f"{self.prefix}.{key}",
            type=kind,
            default=None,
            scopes=FOR_TABLE,
            mutable=False,
            doc=f"With the format `{self.prefix}`. {doc}",
            derived_default=derived_default,
        )

    def _flag(self, key: str, doc: str, *, default: bool) -> Option[bool]:
        return Option(
            key=f"{self.prefix}.{key}",
            type=BOOLEAN,
            default=default,
            scopes=FOR_TABLE,
            mutable=False,
            doc=f"With the format `{self.prefix}`. {doc}",
        )


REGISTRY_OPTIONS: Final = {name: RegistryOptions(name) for name in (CONFLUENT, DEBEZIUM_CONFLUENT)}
AVRO_FORMAT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    AVRO_LEGACY_TIMES,
    AVRO_IGNORE_ERRORS,
    *(option for options in REGISTRY_OPTIONS.values() for option in options.declared()),
)
