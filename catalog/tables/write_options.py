"""The options of one write, given by a hint, by `WITH (…)` after the table, or by `option`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from table_store.storage.file_store.model.snapshot import BATCH_IDENTIFIER
from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.options.table_option_rules import parse_write_options
from table_store.storage.options.table_options import (
    CHANGE_TRACKING,
    CHANGE_TYPE_COLUMN,
    COMMIT_IDENTIFIER,
    COMMIT_USER,
    SINK_EMIT,
)

_OF_SPARK = ("mergeSchema", "mergeschema")
"""Spark's options for WITH SCHEMA EVOLUTION, which has happened when the write begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitName:
    """The name of a commit, so that it happens only once. The numbers of one user ascend."""

    user: str
    identifier: int


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """All write options. If `is_tracked` is None, the table's option decides."""

    is_tracked: bool | None = None
    change_type_column: str | None = None
    commit: CommitName | None = None

    @classmethod
    def parse(cls, options: Mapping[str, str]) -> WriteOptions:
        """Read the options of a statement.

        Raises:
            UnknownOptionError: there is no such option.
            InvalidOptionError: a value is not allowed, or the option is not for writes.
        """
        values = parse_write_options({k: v for k, v in options.items() if k not in _OF_SPARK})
        if values.is_given(SINK_EMIT):
            raise InvalidOptionError(
                key=SINK_EMIT.key,
                value=values.get(SINK_EMIT),
                reason="it is for an INSERT in streaming mode, which goes on",
            )
        tracked = values.get(CHANGE_TRACKING) if values.is_given(CHANGE_TRACKING) else None
        return cls(
            tracked,
            values.get(CHANGE_TYPE_COLUMN),
            _commit_name(values.get(COMMIT_USER), values.get(COMMIT_IDENTIFIER)),
        )


def _commit_name(user: str | None, identifier: int | None) -> CommitName | None:
    if user is None and identifier is None:
        return None
    if user is None or identifier is None:
        given, other = COMMIT_USER.key, COMMIT_IDENTIFIER.key
        if user is None:
            given, other = other, given
        raise InvalidOptionError(
            key=given,
            value=str(identifier if user is None else user),
            reason=f"it says nothing without {other!r}",
        )
    if identifier == BATCH_IDENTIFIER:
        raise InvalidOptionError(
            key=COMMIT_IDENTIFIER.key, value=str(identifier), reason="this number is reserved"
        )
    return CommitName(user=user, identifier=identifier)
