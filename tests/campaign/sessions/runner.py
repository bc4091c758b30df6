"""Running statements in Spark, and telling what their ends say about them."""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Collection, Sequence
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.sessions.ended import Ended, Outcome, timed
from tests.campaign.sessions.statement import Answer, Statement

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
