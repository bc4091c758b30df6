"""Steps of a request that need not wait for each other, on the cores that are free."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, Final, TypeVar

from table_store.catalog.planner.process.session import PlannerSession

Found = TypeVar("Found")

_HELPERS: Final = ThreadPoolExecutor(
    max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="step"
)
"""Of all requests; not so many that whole results that are computed at once fill the memory. Each
has a thread of its own in the JVM for as long as it lives."""


def at_once(session: PlannerSession, steps: Sequence[Callable[[], Found]]) -> list[Found]:
    """Return what steps return, in their order.

    Calls of all of them into the JVM are part of the request that this thread serves. What no
    helper has begun when this thread has done its own part it does as well, so that steps may have
    steps. An error of the first step that fails is raised when none of them is at work any more.
    """
    if len(steps) < 2:
        return [step() for step in steps]
    own, *others = steps
    shared = session.bridge.SharedRequest.current(session.spark._jsparkSession)
    begun = [_HELPERS.submit(copy_context().run, _run, shared, step) for step in others]
    ended = [_ended(own)]
    for helper, step in zip(begun, others, strict=True):
        ended.append(_ended(step) if helper.cancel() else helper)
    wait(ended)
    return [one.result() for one in ended]


def _run(shared: Any, step: Callable[[], Found]) -> Found:
    shared.begin()
    try:
        return step()
    finally:
        shared.end()


def _ended(step: Callable[[], Found]) -> Future[Found]:
    """Run a step here."""
    future: Future[Found] = Future()
    try:
        future.set_result(step())
    except Exception as error:  # noqa: BLE001 - raised as soon as the others have ended
        future.set_exception(error)
    return future
