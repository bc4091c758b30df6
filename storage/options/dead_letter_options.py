"""The option that names the table for what a source has and that is no row."""

from __future__ import annotations

from typing import Final

from table_store.storage.options.options import FOR_TABLE, Option, OptionType


def _table(text: str) -> str:
    parts = [part.strip() for part in text.split(".")]
    if len(parts) != 2 or not all(parts):
        raise ValueError("a table with its namespace, such as 'default.bad_records'")
    return ".".join(parts)


DEAD_LETTER_TABLE: Final[Option[str | None]] = Option(
    key="dead-letter.table",
    type=OptionType("String", _table),
    default=None,
    scopes=FOR_TABLE,
    mutable=False,
    derived_default="such a record is an error, or left out with `….ignore-parse-errors`",
    doc="Of `kafka`, `upsert-kafka` and `filesystem`: the table, with its namespace, that takes "
    "the records that are no rows; it is made if there is none. See "
    "[bad records](kafka-source.md#bad-records). It costs a commit for each part of "
    "a topic and each file that has some.",
)
