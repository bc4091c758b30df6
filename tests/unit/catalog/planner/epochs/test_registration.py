"""Goal: the statement of a streaming INSERT is registered, and no secret that it holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from table_store.catalog.planner.epochs.registration import kept_statement
from table_store.catalog.planner.protocol.jobs import Job
from table_store.catalog.planner.protocol.relations import CatalogReference, RelationReference
from table_store.storage.file_store.model.stored_query import StoredQuery

CATALOG = CatalogReference(name="c", options={}, allowed_roots="")
JOB = Job(
    id="run",
    name="copied",
    commit_user="insert:copied:1",
    sink=RelationReference(catalog=CATALOG, namespace=("n",), name="t"),
    sink_name="c.n.t",
    path="/w/n.db/t",
    insert=StoredQuery(
        text="INSERT INTO t SELECT token, password AS secret FROM s",
        current_catalog="c",
        current_namespace=("n",),
        settings={"spark.sql.ansi.enabled": "true"},
    ),
    options={"x": "y"},
    interval_ms=1,
)


def test_a_statement_is_kept() -> None:
    assert kept_statement(JOB) == JOB.insert


@pytest.mark.parametrize(
    "job",
    [
        replace(JOB, options={"x.password": "abc"}),
        replace(JOB, insert=replace(JOB.insert, settings={"x.secret": "abc"})),
        replace(
            JOB,
            insert=replace(
                JOB.insert, text="INSERT INTO t SELECT * FROM s WITH ('api.key' = 'abc')"
            ),
        ),
    ],
    ids=["option", "setting", "text"],
)
def test_a_secret_is_not(job: Job) -> None:
    assert kept_statement(job) is None
