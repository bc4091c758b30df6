"""A connection to Kafka whose process dies at a chosen call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

from table_store.storage.log_store.kafka.kafka_topics import KafkaTopics
from table_store.storage.log_store.kafka.kafka_transactions import KafkaTransactions


class Death(BaseException):
    """The process is gone: nothing of it catches this, and what it had open is closed."""


class Steps:
    """Counts the calls to Kafka, and dies before or after the one that is chosen.

    `die_at` counts half steps: 0 is before the first call, 1 after it, 2 before the second.
    """

    def __init__(self, die_at: int | None = None) -> None:
        self.die_at = die_at
        self.names: list[str] = []

    def run(self, name: str, call: Callable[[], Any]) -> Any:
        before = 2 * len(self.names)
        self.names.append(name)
        if self.die_at == before:
            raise Death(f"before {name}")
        answer = call()
        if self.die_at == before + 1:
            raise Death(f"after {name}")
        return answer


_STEPS: Final = (
    (KafkaTransactions, ("init_producer", "add_partitions", "send", "end", "is_idle")),
    (KafkaTopics, ("end_offsets",)),
)


@contextmanager
def counted(steps: Steps) -> Iterator[None]:
    """Every connection of a log counts its steps meanwhile."""

    def counting(plain: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: object, *args: Any, **kwargs: Any) -> Any:
            return steps.run(plain.__name__, lambda: plain(self, *args, **kwargs))

        return call

    with ExitStack() as patches:
        for kind, names in _STEPS:
            for name in names:
                patches.enter_context(patch.object(kind, name, counting(getattr(kind, name))))
        yield
