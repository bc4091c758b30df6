"""Options of tables `WITH ('connector' = 'print')`; names and meanings are Flink's."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import BOOLEAN, FOR_TABLE, TEXT, Option

PRINT_IDENTIFIER: Option[str | None] = Option(
    key="print-identifier",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="nothing",
    doc="Of `print`: what stands with `> ` in front of each line.",
)
STANDARD_ERROR = Option(
    key="standard-error",
    type=BOOLEAN,
    default=False,
    scopes=FOR_TABLE,
    mutable=False,
    doc="Of `print`: whether the lines go to standard error instead of standard output.",
)
PRINT_OPTIONS: Final = (PRINT_IDENTIFIER, STANDARD_ERROR)
