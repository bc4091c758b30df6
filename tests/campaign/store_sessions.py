"""Sessions at once over storage without Spark; chance decides whose input or output comes next.

The statements, the model and the search for a serial order are those of `spark-sessions`. Each
input or output of a session is a step, and a case decides which session takes the next one: what
depends on a moment between two of them is met far more often than by the clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

from table_store.catalog.definition.table_definition import TableDefinition
from table_store.catalog.names.warehouse import Warehouse
from table_store.catalog.tables.lifecycle import TableLifecycle
from table_store.storage.file_io.local_file_io import LocalFileIO
from table_store.storage.file_store.model.schema import Field
from table_store.storage.kernel.clock import Clock
from table_store.storage.kernel.frozen_map import FrozenMap
from table_store.storage.kernel.ids import RandomIds
from table_store.storage.kernel.types import INTEGER
from tests.campaign.sessions.database import Database
from tests.campaign.sessions.ended import Ended, check
from tests.campaign.sessions.random_statements import Names, random_plans, read_all
from tests.campaign.sessions.statement import Statement
from tests.campaign.sessions.store_session import StoreSession
from tests.campaign.technique import Case, Counts, Technique
from tests.fakes.failing_file_io import FailingFileIO
from tests.fakes.manual_clock import ManualClock
from tests.fakes.turns import Turns

Result = TypeVar("Result")

_TURN_MAX: Final = 12
"""Inputs and outputs that a session does before the next one has its turn."""


class _TakingTurns(FailingFileIO):
    """The files of a session, which waits for its turn before each input and output."""

    def __init__(self, turns: Turns, taker: int) -> None:
        super().__init__(LocalFileIO())
        self._turns = turns
        self._taker = taker
        self._one = threading.Lock()  # some are done by threads of the library

    def run(
        self,
        path: str,
        action: Callable[[], Result],
        torn: Callable[[], object] | None = None,
    ) -> Result:
        with self._one:
            self._turns.step(self._taker)
        return super().run(path, action, torn)


def run_case(case: Case) -> Counts:
    """Run the statements of a case and look for their serial order."""
    dice, root = case.random(), str(case.folder)
    names = Names.drawn(dice, "t")
    plans = random_plans(dice, names, streams=0.3)
    compacts = "compaction-trigger" in names.definition
    clock = ManualClock()
    plain = _session(FailingFileIO(LocalFileIO()), root, clock, names, compacts=compacts)
    rows = names.first_rows(dice)
    start = Database().creating(names.table, names.created().adding(rows))
    _begin(plain, names, rows)
    ended: list[Ended] = []
    wrong: list[BaseException] = []
    turns = Turns(len(plans), dice, steps_max=_TURN_MAX)

    def work(plan: list[Statement], taker: int) -> None:
        files = _TakingTurns(turns, taker)
        session = _session(files, root, clock, names, compacts=compacts, number=taker + 1)
        try:
            ended.extend(session.run(one) for one in plan)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            wrong.append(error)

    turns.run([partial(work, plan) for plan in plans])
    for error in wrong:
        raise error
    ended += [plain.run(read_all(each)) for each in (names.table, names.other)]
    return {"sets": 1, **check(start, ended)}


def _begin(session: StoreSession, names: Names, rows: list[tuple[int | None, ...]]) -> None:
    make = Statement(
        sql=f"CREATE TABLE {names.table}",
        name=names.table,
        defines=lambda database: database.creating(names.table, names.created()),
    )
    fill = Statement(
        sql=f"INSERT INTO {names.table}",
        name=names.table,
        changes=(lambda table: table.adding(rows),),
    )
    for one in (make, fill):
        session.run(one)


def _session(
    file_io: FailingFileIO,
    root: str,
    clock: Clock,
    names: Names,
    *,
    compacts: bool,
    number: int = 0,
) -> StoreSession:
    definition = TableDefinition(
        columns=tuple(Field(id=i, name=name, type=INTEGER) for i, name in enumerate(("id", "v"))),
        primary_key=("id",) if names.has_key else (),
        options=FrozenMap({"bucket": "1"}),
    )
    lifecycle = TableLifecycle(Warehouse(file_io, root, clock, RandomIds()))
    return StoreSession(
        number=number, lifecycle=lifecycle, definition=definition, compacts=compacts
    )


STORE_SESSIONS: Final = Technique(
    name="store-sessions",
    goal="statements of sessions at once over storage have a serial order that explains every read",
    suite_cases=40,
    release_cases=100_000,
    run_case=run_case,
)
