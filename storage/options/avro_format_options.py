"""Options of the formats `avro` and `avro-confluent`; names, defaults and meanings are Flink's."""

from __future__ import annotations

from typing import Any, Final

from table_store.storage.options.options import BOOLEAN, FOR_TABLE, TEXT, Option, one_of

AVRO: Final = "avro"
CONFLUENT: Final = "avro-confluent"


def _text(key: str, doc: str, derived_default: str | None = None) -> Option[str | None]:
    return Option(
        key=f"{CONFLUENT}.{key}",
        type=TEXT,
        default=None,
        scopes=FOR_TABLE,
        mutable=False,
        doc=doc,
        derived_default=derived_default,
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
CONFLUENT_LEGACY_TIMES = Option(
    key="avro-confluent.timestamp_mapping.legacy",
    type=BOOLEAN,
    default=True,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same as `avro.timestamp_mapping.legacy` with `avro-confluent`, for what is written: "
    "what is read tells its unit.",
)
CONFLUENT_IGNORE_ERRORS = Option(
    key="avro-confluent.ignore-parse-errors",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="The same as `json.ignore-parse-errors` with `avro-confluent`; also of records with a "
    "schema that the registry does not have.",
)
REGISTRY_URL = _text(
    "url",
    "Of `kafka` and `upsert-kafka` with `avro-confluent`: where the schema registry is, "
    "`http://host:8081`; several with commas between them are asked one after the other.",
)
SUBJECT = _text(
    "subject",
    "Of `kafka` and `upsert-kafka` with `avro-confluent`: under which name the schema of written "
    "records is registered.",
    "the topic's name with `-value` or `-key` behind it",
)
SCHEMA = _text(
    "schema",
    "Of `kafka` and `upsert-kafka` with `avro-confluent`: the schema with which records are "
    "written; it has each column as a field, and no other.",
    "the one that follows from the columns",
)
AUTO_REGISTER = Option(
    key="avro-confluent.auto.register.schemas",
    type=BOOLEAN,
    default=True,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `kafka` and `upsert-kafka` with `avro-confluent`: whether the schema is registered "
    "before records are written; else it has to be there.",
)
BASIC_SOURCE: Option[str | None] = Option(
    key="avro-confluent.basic-auth.credentials-source",
    type=one_of("user_info", "url"),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="`USER_INFO` if that is given, else `URL`",
    doc="Of `kafka` and `upsert-kafka` with `avro-confluent`: whether user and password for the "
    "registry are in `avro-confluent.basic-auth.user-info`, or in the URL.",
)
USER_INFO = _text(
    "basic-auth.user-info",
    "Of `kafka` and `upsert-kafka` with `avro-confluent`: `user:password` for the registry, or "
    "`${secret:env:NAME}` or `${secret:file:/path}` in place of it.",
)
BEARER_SOURCE: Option[str | None] = Option(
    key="avro-confluent.bearer-auth.credentials-source",
    type=one_of("static_token"),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="`STATIC_TOKEN` if a token is given",
    doc="Of `kafka` and `upsert-kafka` with `avro-confluent`: that the registry takes "
    "`avro-confluent.bearer-auth.token`.",
)
BEARER_TOKEN = _text(
    "bearer-auth.token",
    "Of `kafka` and `upsert-kafka` with `avro-confluent`: the token for the registry, or "
    "`${secret:env:NAME}` or `${secret:file:/path}` in place of it.",
)

AVRO_FORMAT_OPTIONS: Final[tuple[Option[Any], ...]] = (
    AVRO_LEGACY_TIMES,
    AVRO_IGNORE_ERRORS,
    CONFLUENT_LEGACY_TIMES,
    CONFLUENT_IGNORE_ERRORS,
    REGISTRY_URL,
    SUBJECT,
    SCHEMA,
    AUTO_REGISTER,
    BASIC_SOURCE,
    USER_INFO,
    BEARER_SOURCE,
    BEARER_TOKEN,
)
