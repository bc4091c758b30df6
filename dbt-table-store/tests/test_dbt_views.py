"""Goal: models of the kind `materialized_view` are kept by the table store as dbt expects.

dbt's own suite, and what it does not look at: that a second run changes nothing, how a full refresh
replaces, and each change of configuration.
"""

from __future__ import annotations

import pytest
from dbt.adapters.base.relation import BaseRelation
from dbt.tests.adapter.materialized_view.basic import MaterializedViewBasic
from dbt.tests.adapter.materialized_view.changes import (
    MaterializedViewChanges,
    MaterializedViewChangesApplyMixin,
    MaterializedViewChangesContinueMixin,
    MaterializedViewChangesFailMixin,
)
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import get_model_file, run_dbt, run_dbt_and_capture, set_model_file

TestProjInfo.__test__ = False  # type: ignore[attr-defined] # not a test, whatever its name


def kind_of(project: TestProjInfo, relation: BaseRelation) -> str | None:
    """What the server's own lists call a relation."""
    schema = relation.schema
    names = {
        kind: {row[1] for row in project.run_sql(f"show {kind} in {schema}", fetch="all")}
        for kind in ("materialized views", "views", "tables")
    }
    for kind, found in names.items():
        if relation.identifier in found:
            return kind.removesuffix("s").replace(" ", "_")
    return None


def told(project: TestProjInfo, relation: BaseRelation) -> dict[str, str]:
    """What DESCRIBE EXTENDED says of a view behind its columns."""
    rows = project.run_sql(f"describe extended {relation}", fetch="all")
    return {row[0]: row[1] for row in rows}


class TestViews(MaterializedViewBasic):
    """Made, refreshed, and put in the place of other kinds and back."""

    @staticmethod
    def insert_record(project: TestProjInfo, table: BaseRelation, record: tuple[int, int]) -> None:
        project.run_sql(f"insert into {table} values {record}")

    @staticmethod
    def refresh_materialized_view(project: TestProjInfo, view: BaseRelation) -> None:
        project.run_sql(f"refresh materialized view {view}")

    @staticmethod
    def query_row_count(project: TestProjInfo, relation: BaseRelation) -> int:
        count: int = project.run_sql(f"select count(*) from {relation}", fetch="one")[0]
        return count

    @staticmethod
    def query_relation_type(project: TestProjInfo, relation: BaseRelation) -> str | None:
        return kind_of(project, relation)


class _Changes(MaterializedViewChanges):
    """Another schedule is an ALTER, another key a replacement."""

    @staticmethod
    def check_start_state(project: TestProjInfo, view: BaseRelation) -> None:
        now = told(project, view)
        assert "schedule" not in now or not now["schedule"]
        assert "# Constraints" not in now

    @staticmethod
    def change_config_via_alter(project: TestProjInfo, view: BaseRelation) -> None:
        _set(project, view, "schedule='every 2 hours', refresh_policy='incremental'")

    @staticmethod
    def change_config_via_replace(project: TestProjInfo, view: BaseRelation) -> None:
        _set(project, view, "primary_key='id'")

    @staticmethod
    def check_state_alter_change_is_applied(project: TestProjInfo, view: BaseRelation) -> None:
        now = told(project, view)
        assert now["schedule"] == "SCHEDULE EVERY 2 HOURS"
        assert now["refresh policy"] == "INCREMENTAL"

    @staticmethod
    def check_state_replace_change_is_applied(project: TestProjInfo, view: BaseRelation) -> None:
        assert "PRIMARY KEY (id)" in str(told(project, view))

    @staticmethod
    def query_relation_type(project: TestProjInfo, relation: BaseRelation) -> str | None:
        return kind_of(project, relation)


def _set(project: TestProjInfo, view: BaseRelation, settings: str) -> None:
    model = get_model_file(project, view)
    kind = "materialized='materialized_view',"
    set_model_file(project, view, model.replace(kind, f"{kind} {settings},"))


class TestChangesApplied(_Changes, MaterializedViewChangesApplyMixin):
    pass


class TestChangesContinued(_Changes, MaterializedViewChangesContinueMixin):
    pass


class TestChangesFailed(_Changes, MaterializedViewChangesFailMixin):
    pass


_EVENTS = "select 1 as id, 10 as n union all select 2, 20"
_VIEW = """
{{ config(materialized='materialized_view', primary_key='id',
          trigger='on update at most every interval 5 minutes',
          refresh_policy='incremental', tblproperties={'num-levels': 4},
          persist_docs={'relation': true, 'columns': true}) }}
select id, n{CHANGE} as n from {{ ref('events') }}
"""
_SCHEMA = """
models:
  - name: totals
    description: "what's known"
    columns:
      - {name: id, description: "the key"}
"""


class TestOwnViews:
    """Every setting at once."""

    @pytest.fixture(scope="class")
    def models(self) -> dict[str, str]:
        return {
            "events.sql": "{{ config(materialized='incremental', unique_key='id') }} " + _EVENTS,
            "totals.sql": _VIEW.replace("{CHANGE}", ""),
            "schema.yml": _SCHEMA,
        }

    def test_runs(self, project: TestProjInfo) -> None:
        run_dbt(["run"])
        totals = project.adapter.Relation.create(
            schema=project.test_schema, identifier="totals", type="materialized_view"
        )
        now = told(project, totals)
        assert now["Comment"] == "what's known"
        assert now["refresh policy"] == "INCREMENTAL"
        (key,) = (
            row for row in project.run_sql(f"describe {totals}", fetch="all") if row[0] == "id"
        )
        assert key[2] == "the key"

        # The second run sees no change in what the engine has added, and refreshes.
        _, log = run_dbt_and_capture(["--debug", "run"])
        assert "Applying ALTER" not in log
        assert "Applying REPLACE" not in log
        assert "Applying REFRESH" in log
        rows = f"select id, n from {totals} order by id, n"
        assert project.run_sql(rows, fetch="all") == [(1, 10), (2, 20)]

        # Another query with the same columns: an ALTER, and the rows are there behind it.
        set_model_file(project, totals, _VIEW.replace("{CHANGE}", " + 1"))
        _, log = run_dbt_and_capture(["--debug", "run", "--select", "totals"])
        assert "Applying ALTER" in log
        assert "Applying REPLACE" not in log
        assert project.run_sql(rows, fetch="all") == [(1, 11), (2, 21)]

        # Other columns: replaced in one step, without a DROP of what stands on it.
        set_model_file(project, totals, _VIEW.replace("{CHANGE}", " as m, n"))
        _, log = run_dbt_and_capture(["--debug", "run", "--select", "totals"])
        assert "Applying REPLACE" in log
        assert f"drop materialized view if exists {totals}\n" not in log
        assert project.run_sql(f"select m from {totals} order by m", fetch="all") == [(10,), (20,)]

        # Without the trigger it has none.
        set_model_file(
            project,
            totals,
            _VIEW.replace("{CHANGE}", " as m, n").replace(
                "trigger='on update at most every interval 5 minutes',", ""
            ),
        )
        run_dbt(["run", "--select", "totals"])
        assert not told(project, totals).get("schedule")
