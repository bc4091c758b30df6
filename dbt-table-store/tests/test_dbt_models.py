"""Goal: what this adapter does otherwise than dbt-spark: strategies, contracts, docs, grants.

The oracle is a dict of rows, and what PyHive reads without dbt.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import run_dbt, run_dbt_and_capture

TestProjInfo.__test__ = False  # type: ignore[attr-defined] # not a test, whatever its name

_DAY = """
{{ config(materialized='incremental', incremental_strategy='%s', unique_key='id', %s) }}
{%% if is_incremental() %%}
  select * from values (2, 'y', 2), (2, 'x', 3), (4, 'y', 4) as t(id, part, n)
{%% else %%}
  select * from values (1, 'x', 1), (2, 'x', 1), (2, 'y', 1), (3, 'z', 1) as t(id, part, n)
{%% endif %%}
"""
_BEFORE = [(1, "x", 1), (2, "x", 1), (2, "y", 1), (3, "z", 1)]
_CHANGE = [(2, "x", 3), (2, "y", 2), (4, "y", 4)]


class TestStrategies:
    """The second run of each strategy, against the same on a list of rows."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "appended.sql": _DAY % ("append", ""),
            "deleted.sql": _DAY % ("delete+insert", ""),
            "narrowed.sql": _DAY % ("delete+insert", "incremental_predicates=[\"part = 'x'\"]"),
            "overwritten.sql": _DAY % ("insert_overwrite", "partition_by='part'"),
            "replaced.sql": _DAY % ("insert_overwrite", ""),
            "merged.sql": _DAY.replace("unique_key='id'", "unique_key=['id', 'part']")
            % ("merge", "merge_update_columns=['n']"),
        }

    def test_second_run(self, project: TestProjInfo) -> None:
        run_dbt(["run"])
        run_dbt(["run"])
        keys = {row[0] for row in _CHANGE}
        parts = {row[1] for row in _CHANGE}
        pairs = {row[:2] for row in _CHANGE}
        kept = {
            "appended": _BEFORE,
            "deleted": [row for row in _BEFORE if row[0] not in keys],
            "narrowed": [row for row in _BEFORE if row[0] not in keys or row[1] != "x"],
            "overwritten": [row for row in _BEFORE if row[1] not in parts],
            "replaced": [],
            "merged": [row for row in _BEFORE if row[:2] not in pairs],
        }
        for model, rows in kept.items():
            found = project.run_sql(f"select id, part, n from {{schema}}.{model}", fetch="all")
            assert sorted(found) == sorted([*rows, *_CHANGE]), model
            commits = project.run_sql(
                f"select operation from {{schema}}.`{model}$snapshots`", fetch="all"
            )
            assert len(commits) == 2, (model, commits)  # one for each run: no reader sees a half


_CONTRACT = """
models:
  - name: kept
    description: "the rows' table"
    config: {contract: {enforced: true}, persist_docs: {relation: true, columns: true}}
    constraints:
      - {type: check, expression: "n > 0"}
    columns:
      - name: id
        data_type: bigint
        description: "it's the key"
        constraints: [{type: not_null}, {type: primary_key}]
      - name: n
        data_type: int
        constraints: [{type: not_null}, {type: check, expression: "n < 100"}]
"""
_KEPT = "{{ config(materialized='table', grants={'select': ['somebody']}) }} select "


class TestContracts:
    """A contract is kept by the table, and what breaks it leaves the old rows."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "kept.sql": _KEPT + "cast(1 as bigint) as id, 5 as n",
            "reader.sql": "{{ config(materialized='materialized_view') }} "
            "select sum(n) as n from {{ ref('kept') }}",
            "seen.sql": "{{ config(materialized='view') }} select n from {{ ref('kept') }}",
            "schema.yml": _CONTRACT,
        }

    def test_contract(self, project: TestProjInfo) -> None:
        _, log = run_dbt_and_capture(["run"])
        assert "grants of" in log
        rows = "select id, n from {schema}.kept"
        (shown,) = project.run_sql("show create table {schema}.kept", fetch="one")
        assert "id BIGINT NOT NULL COMMENT 'it\\'s the key'" in shown
        assert "n INT NOT NULL" in shown
        assert "CHECK (n > 0)" in shown
        assert "CHECK (n < 100)" in shown
        assert "PRIMARY KEY (id) NOT ENFORCED" in shown
        assert "COMMENT 'the rows\\' table'" in shown
        assert project.run_sql(rows, fetch="all") == [(1, 5)]

        # The same definition: the rows are replaced in one commit, and the view has a change.
        _write(project, "kept.sql", _KEPT + "cast(1 as bigint) as id, 6 as n")
        run_dbt(["run"])
        assert project.run_sql(rows, fetch="all") == [(1, 6)]
        assert project.run_sql("select n from {schema}.reader", fetch="all") == [(6,)]
        operations = project.run_sql(
            "select operation from {schema}.`kept$snapshots` order by snapshot_id", fetch="all"
        )
        assert len(operations) == 2

        # A NULL, also beside another definition: refused, and the old rows stay.
        _write(project, "kept.sql", _KEPT + "cast(1 as bigint) as id, cast(null as int) as n")
        _, log = run_dbt_and_capture(["run", "--select", "kept"], expect_pass=False)
        assert "NOT_NULL_ASSERT_VIOLATION" in log
        assert "\tat org." not in log  # the message, not the server's stack
        for broken in ("-1", "100"):
            _write(project, "kept.sql", _KEPT + f"cast(1 as bigint) as id, {broken} as n")
            _, log = run_dbt_and_capture(["run", "--select", "kept"], expect_pass=False)
            assert "CHECK_CONSTRAINT_VIOLATION" in log
        changed = _CONTRACT.replace("data_type: bigint", "data_type: int")
        _write(project, "schema.yml", changed)
        _write(project, "kept.sql", _KEPT + "1 as id, cast(null as int) as n")
        run_dbt(["run", "--select", "kept"], expect_pass=False)
        assert project.run_sql(rows, fetch="all") == [(1, 6)]
        _write(project, "kept.sql", _KEPT + "1 as id, 7 as n")
        run_dbt(["run"])
        assert project.run_sql(rows, fetch="all") == [(1, 7)]
        assert project.run_sql("select n from {schema}.reader", fetch="all") == [(7,)]

        # Columns that are not the contract's.
        _write(project, "kept.sql", _KEPT + "1 as id, 'a' as n")
        _, log = run_dbt_and_capture(["run", "--select", "kept"], expect_pass=False)
        assert "contract" in log

        # The catalog of the docs has every kind, with comments.
        _write(project, "kept.sql", _KEPT + "1 as id, 7 as n")
        run_dbt(["docs", "generate"])
        catalog = json.loads(Path(project.project_root, "target", "catalog.json").read_text())
        nodes = {name.rpartition(".")[2]: node for name, node in catalog["nodes"].items()}
        kinds = {name: node["metadata"]["type"] for name, node in nodes.items()}
        assert kinds == {"kept": "table", "reader": "materialized_view", "seen": "view"}
        assert nodes["kept"]["metadata"]["comment"] == "the rows' table"
        assert nodes["kept"]["columns"]["id"]["comment"] == "it's the key"
        assert nodes["kept"]["stats"]["rows"]["value"] == 1


def _write(project: TestProjInfo, name: str, text: str) -> None:
    Path(project.project_root, "models", name).write_text(text)
