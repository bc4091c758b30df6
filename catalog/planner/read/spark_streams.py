"""Asks the JVM about streams that Spark reads by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from table_store.catalog.connectors.positions.stream_range import StreamRange
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.protocol.json_form import to_json


@dataclass(frozen=True, slots=True)
class SparkStreams:
    """The streams as a session finds them; see `StreamLooks`."""

    session: PlannerSession

    def look(self, stream: StreamRange) -> tuple[str, str | None]:
        """Return the offset before the first row, and the one behind those that are there now.

        Raises:
            ValueError: Spark cannot tell.
        """
        found = json.loads(self.session.bridge.SparkStreams.look(self._jvm, _text(stream)))
        if "failure" in found:
            raise ValueError(found["failure"])
        return found["start"], found.get("end")

    def commit(self, stream: StreamRange) -> None:
        """Tell a stream that the rows before its `end` are never asked for again.

        Raises:
            ValueError: it cannot be told.
        """
        failure = self.session.bridge.SparkStreams.commit(self._jvm, _text(stream))
        if failure is not None:
            raise ValueError(failure)

    @property
    def _jvm(self) -> Any:
        return self.session.spark._jsparkSession


def _text(stream: StreamRange) -> str:
    return json.dumps(to_json(stream))
