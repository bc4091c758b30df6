"""Goal: Prometheus can read the metrics, they say what REST says, and the dashboard names them."""

from __future__ import annotations

import json
import re

from prometheus_client.parser import text_string_to_metric_families

from tests.checkout import REPOSITORY
from tests.unit.catalog.service.conftest import Service

DASHBOARD = REPOSITORY / "conf" / "grafana-dashboard.json"
_METRIC = re.compile(r"\b(?:table_store|process)_[a-z_]+\b")


def families(service: Service) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
    """The values of all metrics by name and labels."""
    response = service.client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        family.name: {tuple(sorted(s.labels.items())): s.value for s in family.samples}
        for family in text_string_to_metric_families(response.text)
    }


def of(labels: dict[tuple[tuple[str, str], ...], float], **wanted: str) -> float:
    (found,) = [value for key, value in labels.items() if wanted.items() <= dict(key).items()]
    return found


def test_values(service: Service) -> None:
    found = families(service)
    assert of(found["table_store_table_delay_seconds"], table="default.a") == 0
    assert of(found["table_store_table_delay_seconds"], table="default.b") > 0
    assert of(found["table_store_table_snapshot"], table="default.r", kind="Root") == 2
    assert of(found["table_store_table_barrier_seconds"], table="default.c") == 0.01
    # Each of its two commits has added a file of a row.
    assert of(found["table_store_table_files"], table="default.r") == 2
    assert of(found["table_store_table_rows"], table="default.r") == 2
    assert of(found["table_store_table_size_bytes"], table="default.r") > 0
    assert not any("default.r" in str(key) for key in found["table_store_table_sorted_runs"])
    assert of(found["table_store_readable_barrier_seconds"]) == 0.01
    assert of(found["table_store_job_state"], job_id="b", state="RUNNING") == 1
    assert of(found["table_store_job_failures"], job_id="b") == 1
    last = {"window": "1m"}
    assert of(found["table_store_job_epochs"], job_id="a", rule="incremental", **last) == 1
    assert of(found["table_store_job_failed_epochs"], job_id="b", **last) == 1
    assert of(found["table_store_job_rows_changed"], job_id="a", **last) == 2
    slowest = {"job_id": "a", "statistic": "max", **last}
    assert of(found["table_store_job_working_seconds"], **slowest) == 0.007
    assert of(found["table_store_arrival_delay_seconds"], **slowest) > 1e9, "its barrier is of 1970"


def test_the_dashboard_names_only_what_is_told(service: Service) -> None:
    told = {name.removesuffix("_total") for name in families(service)}
    dashboard = json.loads(DASHBOARD.read_text())
    queries = [
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())
    ]
    queries += [one["query"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
    named = {name.removesuffix("_total") for query in queries for name in _METRIC.findall(query)}
    assert named <= told
    ours = {name for name in told if name.startswith("table_store_")}
    assert ours <= named, "each metric is of use somewhere"
