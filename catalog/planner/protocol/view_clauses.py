"""The clauses about a materialized view that Spark's parser refuses, on their way through Spark.

The statement is handed to Spark as its own CREATE MATERIALIZED VIEW, so that parameters, EXPLAIN,
name resolution and analysis are Spark's. The clauses are one property of it, `VIEW_CLAUSES`, which
the planner takes out again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from table_store.catalog.planner.protocol.json_form import ProtocolError, from_json, to_json
from table_store.storage.file_store.model.upkeep import RefreshPolicy, Schedule, Upkeep
from table_store.storage.kernel.errors import InvalidOptionError

VIEW_CLAUSES: Final = "table-store.view-clauses"


class ViewMode(Enum):
    """What becomes of a view that has the name already."""

    CREATE = "create"
    REPLACE = "replace"
    REFRESH = "refresh"
    ALTER = "alter"


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A column whose type is that of the query."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewClauses:
    """The clauses.

    Attributes:
        mode: OR REPLACE, OR REFRESH, or ALTER … AS instead of CREATE.
        columns: those declared without types; empty if there are none, or they have types.
        primary_key: its columns.
        constraint_name: of the primary key, None if it has no name.
        policy: REFRESH POLICY.
        schedule: SCHEDULE or TRIGGER.
    """

    mode: ViewMode = ViewMode.CREATE
    columns: tuple[ViewColumn, ...] = ()
    primary_key: tuple[str, ...] = ()
    constraint_name: str | None = None
    policy: RefreshPolicy = RefreshPolicy.AUTO
    schedule: Schedule | None = None

    @property
    def upkeep(self) -> Upkeep:
        """How the view is to be refreshed."""
        return Upkeep(policy=self.policy, schedule=self.schedule)

    def to_property(self) -> str:
        """Return the value of the property; `of_properties` reads it."""
        return json.dumps(to_json(self), ensure_ascii=False)

    @classmethod
    def of_properties(cls, properties: Mapping[str, str]) -> ViewClauses:
        """Return the clauses of a statement with these properties.

        Raises:
            InvalidOptionError: the property was written by somebody else.
        """
        text = properties.get(VIEW_CLAUSES)
        if text is None:
            return cls()
        try:
            return from_json(cls, json.loads(text))
        except (ValueError, ProtocolError):
            raise InvalidOptionError(
                key=VIEW_CLAUSES,
                value=text,
                reason="it is no option, but how clauses such as REFRESH POLICY are passed on",
            ) from None
