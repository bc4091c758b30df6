"""Where a log was at the positions between which rows are asked for."""

from __future__ import annotations

from table_store.catalog.connectors.connector_errors import SourcePositionLostError
from table_store.catalog.connectors.positions.position import Cut, PositionStore, TopicCuts
from table_store.catalog.connectors.positions.source_read import AskedRows


def asked_cuts(asked: AskedRows, positions: PositionStore) -> tuple[TopicCuts, Cut, Cut]:
    """Return the log as far as it is out, and its cuts at `asked.first` and `asked.last`.

    Raises:
        SourcePositionLostError: nobody knows one of them.
    """
    assert asked.last is not None, "rows of a job have an end"
    last = positions.last()
    topic = None if last is None else last.topic
    begin, end = (
        (None if topic is None else topic.cut(rows)) or positions.cut(rows)
        for rows in (asked.first, asked.last)
    )
    if topic is None or begin is None or end is None:
        number = asked.first if begin is None else asked.last
        raise SourcePositionLostError(
            table=asked.table, reason=f"its position {number} is no longer kept"
        )
    return topic, begin, end
