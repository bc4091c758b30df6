"""Running statements in Spark, and telling what their ends say about them."""

from __future__ import annotations

import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.sessions.database import Database
from tests.campaign.sessions.serial_order import Observed, serial_order
from tests.campaign.sessions.statement import Answer, Statement
from tests.campaign.technique import Counts


class Outcome(Enum):
    """What a statement's end says about it."""

    DONE = "done"
    REFUSED = "refused"
    NO_TABLE = "refused by the name"
    NOT_FITTING = "refused by the columns"
    UNKNOWN = "unknown"


_NO_TABLE = {
    "TABLE_OR_VIEW_NOT_FOUND",
    "TABLE_OR_VIEW_ALREADY_EXISTS",
    "TABLE_STORE_NOT_FOUND",
    "TABLE_STORE_ALREADY_EXISTS",
}
_NOT_FITTING = {
    "UNRESOLVED_COLUMN",
    "FIELD_ALREADY_EXISTS",
    "FIELD_NOT_FOUND",
    "TABLE_STORE_INVALID_SCHEMA",
}
_UNKNOWN = {"TABLE_STORE_COMMIT_STATE_UNKNOWN", "TABLE_STORE_PLANNER_LOST"}

OTHERS_IN_THE_WAY = {
    "TABLE_STORE_COMMIT_CONFLICT",
    # The table was dropped, or its snapshot expired, under the statement.
    "TABLE_STORE_MISSING_FILE",
    "TABLE_STORE_SNAPSHOT_NOT_FOUND",
    # Spark saw that the table's columns changed between analysis and execution.
    "INCOMPATIBLE_TABLE_CHANGE_AFTER_ANALYSIS",
}
"""What refuses a statement because of another session."""

_CONDITION = re.compile(r"\[([A-Z][A-Z_]{4,})(?:\.[A-Z_.]+)?\]")
_SQLSTATE = re.compile(r"SQLSTATE: [0-9A-Z]{5}")
_RAW = ("Traceback (most recent call last)", "Py4JJavaError", "java.lang.NullPointerException")


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A statement that was run."""

    session: int
    statement: Statement
    begun_ns: int
    ended_ns: int
    outcome: Outcome
    answer: Answer | None
    said: str

    def observed(self) -> Observed | None:
        """Return it as the search takes it; None where it has surely done nothing."""
        if self.outcome is Outcome.NO_TABLE:
            steps = self.statement.steps_without_table()
        elif self.outcome is Outcome.NOT_FITTING:
            steps = self.statement.steps_not_fitting()
        elif self.outcome is Outcome.REFUSED and len(self.statement.changes) < 2:
            return None
        else:
            # Of a stream that was refused, earlier batches may be there.
            steps = self.statement.steps(self.answer)
        return Observed(
            text=self.statement.sql,
            steps=steps,
            begun_ns=self.begun_ns,
            ended_ns=self.ended_ns,
            is_certain=self.outcome not in (Outcome.REFUSED, Outcome.UNKNOWN),
        )

    def told(self, start_ns: int) -> str:
        """Return it for people."""
        begun, ended = ((t - start_ns) / 1e6 for t in (self.begun_ns, self.ended_ns))
        what = self.answer if self.outcome is Outcome.DONE else self.said[:300]
        return (
            f"{begun:8.1f} to {ended:8.1f} ms, session {self.session}: {self.statement.sql}\n"
            f"    {self.outcome.value}: {what}"
        )


def run(
    session: SparkSession,
    one: Statement,
    folder: Path,
    *,
    number: int = 0,
    refusing: Collection[str] = (),
) -> Ended:
    """Run a statement; a stream has its source and checkpoint in `folder`.

    Raises:
        AssertionError: it failed with an error that is not `refusing`, nor follows from names or
            columns, or with one that shows what goes on inside.
    """

    def ask() -> tuple[Outcome, Answer | None, str]:
        try:
            return Outcome.DONE, _answer(session, one, folder), ""
        except PySparkException as error:
            said = str(error)
        return outcome_of(said, one, refusing), None, said

    return timed(number, one, ask)


def timed(
    session: int, one: Statement, ask: Callable[[], tuple[Outcome, Answer | None, str]]
) -> Ended:
    """Ask what a statement's end says, and note when it began and had ended."""
    begun_ns = time.monotonic_ns()
    outcome, answer, said = ask()
    return Ended(
        session=session,
        statement=one,
        begun_ns=begun_ns,
        ended_ns=time.monotonic_ns(),
        outcome=outcome,
        answer=answer,
        said=said,
    )


def run_at_once(
    sessions: Sequence[SparkSession], plans: Sequence[Sequence[Statement]], folder: Path
) -> list[Ended]:
    """Run each plan in a session of its own, all at once; return what has ended."""
    ended: list[Ended] = []
    wrong: list[BaseException] = []
    together = threading.Barrier(len(plans))

    def work(number: int) -> None:
        session = sessions[number]
        # Spark knows of no session in a new thread, and of no catalog but its own.
        SparkSession._get_j_spark_session_class(session._jvm).setActiveSession(
            session._jsparkSession
        )
        together.wait()
        try:
            for one in plans[number]:
                refusing = OTHERS_IN_THE_WAY
                ended.append(run(session, one, folder, number=number + 1, refusing=refusing))
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(plans))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in wrong:
        raise error
    return ended


def check(start: Database, ended: Sequence[Ended]) -> Counts:
    """Look for the order of the statements; return how they ended.

    Raises:
        AssertionError: there is none.
    """
    known = [one.observed() for one in ended]
    if serial_order(start, [one for one in known if one is not None]) is None:
        first_ns = min(one.begun_ns for one in ended)
        told = "\n".join(one.told(first_ns) for one in sorted(ended, key=lambda e: e.begun_ns))
        raise AssertionError(f"no serial order of these, from {start}:\n{told}")
    outcomes = Counter(one.outcome for one in ended)
    return {
        "statements": len(ended),
        "refused": outcomes[Outcome.REFUSED],
        "refused by a name or column": outcomes[Outcome.NO_TABLE] + outcomes[Outcome.NOT_FITTING],
        "unknown": outcomes[Outcome.UNKNOWN],
    }


def outcome_of(said: str, one: Statement, refusing: Collection[str]) -> Outcome:
    """Return what an error says about the end of a statement.

    Raises:
        AssertionError: it is none of those, or shows what goes on inside.
    """
    found = _CONDITION.findall(said)
    shown = said.partition("\n\nJVM stacktrace:")[0]
    if _SQLSTATE.search(said) and not any(raw in shown for raw in _RAW):
        for outcome, conditions in (
            (Outcome.UNKNOWN, _UNKNOWN),
            (Outcome.REFUSED, refusing),
            (Outcome.NO_TABLE, _NO_TABLE),
            (Outcome.NOT_FITTING, _NOT_FITTING),
        ):
            if any(condition in conditions for condition in found):
                return outcome
    raise AssertionError(f"{one.sql}\nfailed with what no user should see:\n{said}")


def _answer(session: SparkSession, one: Statement, folder: Path) -> Answer | None:
    """Run a statement; return its rows where it reads."""
    if one.rows_of_stream:
        _stream(session, one, folder)
        return None
    frame = session.sql(one.sql)
    rows = sorted(map(tuple, frame.collect()), key=lambda r: [(v is not None, v) for v in r])
    return (tuple(frame.columns), tuple(rows)) if one.reads else None


def _stream(session: SparkSession, one: Statement, folder: Path) -> None:
    source = folder / f"stream-{uuid.uuid4()}"
    source.mkdir()
    for number, (row_id, value) in enumerate(one.rows_of_stream):
        (source / f"{number}.json").write_text(json.dumps({"id": row_id, "v": value}))
    frame = (
        session.readStream.schema("id INT, v INT").option("maxFilesPerTrigger", 1).json(str(source))
    )
    writer = frame.writeStream.trigger(availableNow=True)
    writer = writer.option("checkpointLocation", f"{source}-checkpoint")
    # In a new thread Spark looks for a plain name in its own catalog.
    writer.toTable(f"{session.catalog.currentCatalog()}.default.{one.name}").awaitTermination()
