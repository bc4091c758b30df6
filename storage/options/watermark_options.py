"""The options by which roots advance together in event time; `table_options` has them with all.

Their keys are those of Apache Flink's watermark alignment (docs/dev/table/concepts/
time_attributes, "Configure watermark alignment") and its idle sources.
"""

from __future__ import annotations

from datetime import timedelta

from table_store.storage.options.options import DURATION, FOR_TABLE, TEXT, Option

WATERMARK_ALIGNMENT_GROUP: Option[str | None] = Option(
    key="scan.watermark.alignment.group",
    type=TEXT,
    default=None,
    scopes=FOR_TABLE,
    doc="Tables of one group advance together in event time: a barrier takes of each only the "
    "snapshots whose watermark is at most `max-drift` ahead of that of the slowest. The table "
    "needs a WATERMARK.",
)
WATERMARK_ALIGNMENT_MAX_DRIFT = Option(
    key="scan.watermark.alignment.max-drift",
    type=DURATION,
    default=timedelta(0),
    scopes=FOR_TABLE,
    doc="How far the table may be ahead of the slowest of its group. Longer: results come "
    "earlier, with rows of event times that lie further apart.",
)
WATERMARK_IDLE_TIMEOUT: Option[timedelta | None] = Option(
    key="scan.watermark.idle-timeout",
    type=DURATION,
    default=None,
    scopes=FOR_TABLE,
    derived_default="never",
    doc="Without a commit for so long the table no longer holds back the others of its group.",
)
