"""Steps of a request that run beside each other."""

from __future__ import annotations

import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import cast

import pytest

from table_store.catalog.planner.process.parallel_steps import at_once
from table_store.catalog.planner.process.session import PlannerSession


@dataclass
class Requests:
    """The JVM's part: which threads work for the request."""

    at_work: set[int] = field(default_factory=set)
    begun: int = 0

    @property
    def session(self) -> PlannerSession:
        """A session whose requests are these."""
        shared = SimpleNamespace(current=lambda _: self)
        spark = SimpleNamespace(_jsparkSession=None)
        return cast(
            "PlannerSession",
            SimpleNamespace(bridge=SimpleNamespace(SharedRequest=shared), spark=spark),
        )

    def begin(self) -> None:
        """A thread begins to work for it."""
        self.begun += 1
        self.at_work.add(threading.get_ident())

    def end(self) -> None:
        """It ends."""
        self.at_work.remove(threading.get_ident())


def test_results_are_in_the_order_of_the_steps() -> None:
    both = threading.Barrier(2, timeout=30)

    def meet(result: str) -> str:
        both.wait()  # neither ends before the other one has begun
        return result

    requests = Requests()
    assert at_once(requests.session, [partial(meet, "a"), partial(meet, "b")]) == ["a", "b"]
    assert requests.begun == 1
    assert not requests.at_work


def test_a_single_step_needs_no_other_thread() -> None:
    requests = Requests()
    assert at_once(requests.session, [threading.get_ident]) == [threading.get_ident()]
    assert at_once(requests.session, []) == []
    assert requests.begun == 0


def test_a_helper_works_for_the_request() -> None:
    requests, both = Requests(), threading.Barrier(2, timeout=30)
    said: ContextVar[str] = ContextVar("said", default="nothing")
    said.set("by the request")

    def known() -> tuple[bool, str]:
        both.wait()
        return threading.get_ident() in requests.at_work, said.get()

    found = at_once(requests.session, [known, known])
    assert found == [(False, "by the request"), (True, "by the request")]


def test_steps_of_steps_end_though_all_helpers_are_busy() -> None:
    session = Requests().session

    def tree(depth: int) -> int:
        if not depth:
            return 1
        return sum(at_once(session, [partial(tree, depth - 1)] * 3))

    found: list[int] = []

    def work() -> None:
        found.append(tree(5))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert found == [3**5] * 8


def test_the_first_error_is_raised_when_no_step_is_at_work() -> None:
    ended = threading.Event()
    both = threading.Barrier(2, timeout=30)

    def fail() -> None:
        both.wait()
        raise ValueError("first")

    def fail_later() -> None:
        both.wait()
        ended.wait(0.2)
        ended.set()
        raise ValueError("second")

    with pytest.raises(ValueError, match="first"):
        at_once(Requests().session, [fail, fail_later])
    assert ended.is_set()
