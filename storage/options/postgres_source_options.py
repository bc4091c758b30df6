"""Options of tables `WITH ('connector' = 'postgres-cdc')`; names and meanings are Flink CDC's."""

from __future__ import annotations

import re
from typing import Final

from table_store.storage.options.options import FOR_TABLE, TEXT, Option, OptionType, one_of

_SLOT: Final = re.compile(r"[a-z0-9_]{1,63}")


def _slot(text: str) -> str:
    found = text.strip()
    if _SLOT.fullmatch(found) is None:
        raise ValueError("at most 63 small letters, digits and underscores")
    return found


SCHEMA_NAME: Option[str | None] = Option(
    key="schema-name",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `postgres-cdc`: the schema of the table that is read; no pattern.",
)
SLOT_NAME: Option[str | None] = Option(
    key="slot.name",
    type=OptionType("String", _slot),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `postgres-cdc`: the replication slot that keeps the table's changes until they are "
    "read. It is made if there is none; no other table may have it.",
)
PLUGIN_NAME = Option(
    key="decoding.plugin.name",
    type=one_of("pgoutput"),
    default="pgoutput",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `postgres-cdc`: what tells the changes: the database's own plugin, no other.",
)
CHANGELOG_MODE = Option(
    key="changelog-mode",
    type=one_of("all", "upsert"),
    default="all",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `postgres-cdc`: whether changes tell all of a row that goes or is replaced, for which "
    "the table needs REPLICA IDENTITY FULL, or with `upsert` its primary key alone.",
)
PUBLICATION_NAME = Option(
    key="debezium.publication.name",
    type=TEXT,
    default="dbz_publication",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `postgres-cdc`: the publication that has the table.",
)

POSTGRES_SOURCE_OPTIONS: Final = (
    SCHEMA_NAME,
    SLOT_NAME,
    PLUGIN_NAME,
    CHANGELOG_MODE,
    PUBLICATION_NAME,
)
