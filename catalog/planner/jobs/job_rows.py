"""Jobs as rows of SHOW JOBS and DESCRIBE JOB."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import Any, Final

import pyarrow as pa

from table_store.catalog.planner.protocol.jobs import ListedJob
from table_store.storage.kernel.clock import SystemClock
from table_store.storage.kernel.frozen_map import FrozenMap

JOB_COLUMNS: Final = (
    ("job", pa.string()),
    ("name", pa.string()),
    ("sink", pa.string()),
    ("state", pa.string()),
    ("barrier", pa.int64()),
    ("lag_ms", pa.int64()),
    ("rule", pa.string()),
    ("reason", pa.string()),
    ("rows_changed", pa.int64()),
    ("rows_per_second", pa.int64()),
    ("progress", pa.string()),
    ("diverged", pa.string()),
    ("failures", pa.int64()),
    ("error", pa.string()),
)
DETAIL_COLUMNS: Final = (("info_name", pa.string()), ("info_value", pa.string()))

_CLOCK: Final = SystemClock()


def job_row(listed: ListedJob, progress: Mapping[str, str] = FrozenMap()) -> dict[str, Any]:
    """A row with `JOB_COLUMNS`. Only a running job that has had an epoch has a lag.

    Args:
        listed: the job.
        progress: how far the epochs of jobs have come, by their ids.
    """
    job, status = listed.job, listed.status
    has_lag = status.reached_ms and not status.is_over
    return {
        "job": job.id,
        "name": job.name,
        "sink": job.sink_name,
        "state": status.state.value,
        "barrier": status.barrier or None,
        "lag_ms": max(0, _CLOCK.now_ms() - status.reached_ms) if has_lag else None,
        "rule": status.rule,
        "reason": status.reason,
        "rows_changed": status.rows_changed,
        "rows_per_second": status.rows_per_second,
        "progress": progress.get(job.id),
        "diverged": status.diverged,
        "failures": status.failures,
        "error": status.error,
    }


def job_details(listed: ListedJob, progress: Mapping[str, str]) -> list[dict[str, Any]]:
    """Rows with `DETAIL_COLUMNS`: those of SHOW JOBS, then what is too long for them."""
    job, status = listed.job, listed.status
    started = dt.datetime.fromtimestamp(status.started_ms / 1000, dt.UTC)
    details = {
        **job_row(listed, progress),
        "last_error": status.last_error,
        "rules": ", ".join(f"{rule} {count}" for rule, count in sorted(status.rules.items())),
        "rows_read": status.rows_read,
        "started": started.isoformat(timespec="milliseconds"),
        "interval_ms": job.interval_ms,
        "rows_absent": status.rows_absent,
        "rows_late": status.rows_late,
        "records_skipped": status.records_skipped,
        "waits": status.waits,
        "statement": job.insert.text,
        "catalog": job.insert.current_catalog,
        "namespace": ".".join(job.insert.current_namespace),
        **{f"source {path}": at for path, at in sorted((status.sources or {}).items())},
    }
    return [
        {"info_name": name, "info_value": None if value is None else str(value)}
        for name, value in details.items()
    ]
