"""Goal: what a view is kept up to date by is read back from its file and from its clauses."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from table_store.catalog.definition.upkeep_change import ScheduleChange, UpkeepChange
from table_store.sql_ext.lexer.token_cursor import TokenCursor
from table_store.sql_ext.statements.upkeep_clause import parse_policy, parse_schedule
from table_store.storage.file_store.model.schema import Field, TableSchema, new_schema
from table_store.storage.file_store.model.stored_query import StoredQuery
from table_store.storage.file_store.model.upkeep import RefreshPolicy, Schedule, TimeUnit, Upkeep
from table_store.storage.kernel.errors import InvalidSchemaError
from table_store.storage.kernel.types import INTEGER

SCHEDULES = (
    Schedule(is_on_update=True),
    *(
        Schedule(is_on_update=is_on_update, every=every, unit=unit)
        for is_on_update, every, unit in itertools.product((False, True), (1, 30), TimeUnit)
    ),
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_is_what_its_clause_says(schedule: Schedule) -> None:
    cursor = TokenCursor(schedule.sql)
    assert parse_schedule(cursor) == schedule
    assert cursor.at_statement_end()


@pytest.mark.parametrize("policy", RefreshPolicy)
def test_a_policy_is_what_its_clause_says(policy: RefreshPolicy) -> None:
    cursor = TokenCursor(policy.value)
    assert parse_policy(cursor) is policy
    assert cursor.at_statement_end()


@pytest.mark.parametrize("schedule", [None, *SCHEDULES])
@pytest.mark.parametrize("policy", RefreshPolicy)
def test_the_schema_file_has_all_of_it(policy: RefreshPolicy, schedule: Schedule | None) -> None:
    query = StoredQuery(text="SELECT 1", current_catalog="c", current_namespace=(), settings={})
    schema = new_schema(fields=[Field(id=0, name="a", type=INTEGER)], time_ms=1, query=query)
    for is_suspended in (False, True):
        upkeep = Upkeep(policy=policy, schedule=schedule, is_suspended=is_suspended)
        kept = replace(schema, upkeep=upkeep)
        assert TableSchema.from_bytes(kept.to_bytes()).upkeep == upkeep


def test_a_schedule_is_added_changed_and_dropped_where_there_is_none_or_one() -> None:
    hourly, daily = (Schedule(every=1, unit=unit) for unit in (TimeUnit.HOUR, TimeUnit.DAY))
    add = UpkeepChange(schedule_change=ScheduleChange.ADD, schedule=hourly)
    alter = UpkeepChange(schedule_change=ScheduleChange.ALTER, schedule=daily)
    drop = UpkeepChange(schedule_change=ScheduleChange.DROP)
    suspended = Upkeep(is_suspended=True, policy=RefreshPolicy.FULL)
    with_one = replace(suspended, schedule=hourly)
    assert add.applied(suspended) == with_one
    assert alter.applied(with_one) == replace(suspended, schedule=daily)
    assert drop.applied(with_one) == suspended
    for change, upkeep in ((add, with_one), (alter, suspended), (drop, suspended)):
        with pytest.raises(InvalidSchemaError):
            change.applied(upkeep)
    resumed = UpkeepChange(is_suspended=False).applied(with_one)
    assert resumed == replace(with_one, is_suspended=False)
