"""Goal: the registry has one job for each table, and forgets only the one that it is asked to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from table_store.catalog.jobs.job_status import JobState
from table_store.catalog.meta_service.registry import (
    REGISTRY_VERSION,
    JobRegistry,
    RegisteredJob,
)
from table_store.catalog.names.found_name import FoundName
from table_store.storage.file_io.resolve import file_io_for
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.kernel.frozen_map import FrozenMap

JOB = RegisteredJob(
    id="a1", name="totals", commit_user="insert:totals:1", sink="/w/é", sources=frozenset({"/w/s"})
)

INSERT = StoredQuery(
    text="INSERT INTO é SELECT * FROM s",
    current_catalog="c",
    current_namespace=("n",),
    settings=FrozenMap({"spark.sql.ansi.enabled": "true"}),
    columns=("a",),
)


@pytest.fixture
def registry(tmp_path: Path) -> JobRegistry:
    return JobRegistry(file_io_for(str(tmp_path)), str(tmp_path))


def test_a_table_has_one_job(registry: JobRegistry) -> None:
    assert registry.all() == ()
    registry.register(JOB)
    other = replace(JOB, id="b2", sink="/w/t", state=JobState.SUSPENDED)
    registry.register(other)
    assert set(registry.all()) == {JOB, other}
    later = replace(JOB, id="c3", sources=frozenset({"/w/s", "/w/t"}))
    registry.register(later)
    assert set(registry.all()) == {later, other}


def test_the_statement_of_an_insert_is_kept(registry: JobRegistry) -> None:
    job = replace(JOB, insert=INSERT)
    registry.register(job)
    assert registry.find(JOB.sink) == job
    assert json.loads(job.to_bytes())["version"] == REGISTRY_VERSION - 1
    late = replace(job, options={"change-tracking": "false"}, starts_late=True)
    registry.register(late)
    assert registry.find(JOB.sink) == late
    assert json.loads(late.to_bytes())["version"] == REGISTRY_VERSION


def test_a_job_without_statement_is_read_by_older_releases(registry: JobRegistry) -> None:
    content = json.loads(JOB.to_bytes())
    assert content["version"] == 2
    assert "insert" not in content
    registry.register(JOB)
    assert registry.find(JOB.sink) == JOB


def test_names_of_sources_are_kept(registry: JobRegistry) -> None:
    """Older releases, which do without them, read the job too."""
    job = replace(JOB, names={"/w/s": FoundName(warehouse="/w", namespace="n", name="S")})
    registry.register(job)
    assert registry.find(JOB.sink) == job
    assert json.loads(job.to_bytes())["version"] == 2


def test_a_job_that_another_one_has_followed_is_not_forgotten(registry: JobRegistry) -> None:
    registry.register(JOB)
    registry.remove(JOB.sink, job="b2")
    assert registry.find(JOB.sink) == JOB
    registry.remove(JOB.sink, job=JOB.id)
    assert registry.find(JOB.sink) is None
    registry.remove(JOB.sink)


def test_nothing_is_written_where_nothing_has_changed(
    registry: JobRegistry, tmp_path: Path
) -> None:
    registry.register(JOB)
    (file,) = (tmp_path / "_jobs").iterdir()
    before = file.stat().st_ino
    registry.register(JOB)
    assert file.stat().st_ino == before
