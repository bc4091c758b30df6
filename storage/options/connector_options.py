"""Options of tables whose rows come from elsewhere; names, defaults and meanings are Flink's."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import (
    FOR_TABLE,
    LONG_MAX,
    Option,
    OptionPrefix,
    one_of,
    whole_number,
)

CONNECTOR: Option[str | None] = Option(
    key="connector",
    type=one_of("datagen"),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    doc="What makes the rows of a table that stores none: see [connectors](connectors.md).",
)
ROWS_PER_SECOND = Option(
    key="rows-per-second",
    type=whole_number("Long", 1, 1_000_000_000),
    default=10_000,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `datagen`: how many rows come each second that a job reads it. More: more to write.",
)
NUMBER_OF_ROWS: Option[int | None] = Option(
    key="number-of-rows",
    type=whole_number("Long", 1, LONG_MAX),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="no end",
    doc="Of `datagen`: after so many rows it ends.",
)
FIELDS: Final = OptionPrefix(
    prefix="fields.",
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `datagen`: how the values of a column are made, such as `fields.id.kind`: see "
    "[connectors](connectors.md#datagen).",
)

CONNECTOR_OPTIONS: Final = (CONNECTOR, ROWS_PER_SECOND, NUMBER_OF_ROWS)
