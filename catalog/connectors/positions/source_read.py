"""What a scan asks of a source, and the answer: parts, and what reads them in workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from table_store.catalog.connectors.dead_letters import DeadLetters
from table_store.catalog.connectors.positions.part_reader import PartReader
from table_store.storage.kernel.counter import Counter
from table_store.storage.kernel.predicate import Predicate

SKIPPED: Final = Counter("records_skipped")
"""Records that are no rows and were left out, by all readers of this process."""

CHANGE_ORDER: Final = "__change_order"
"""The column of a source's changes (BIGINT) by which they are told apart and put in order.

It rises with them, from 1 on, and is negative where a row goes.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedRows:
    """Which rows of a source are to be read.

    Attributes:
        table: the table's name, for messages.
        first: how many rows are left out: those of a position that was read before.
        last: up to which position; None: all that there will be.
        limit: how many are enough; None: all are wanted.
        is_bounded: whether the statement takes what there is now for all.
        parallelism: for how many tasks.
        dead_letters: takes what is no row; None: the options of its format say what happens.
        predicate: holds for all rows that are wanted; who reads them checks that again.
    """

    table: str
    first: int
    last: int | None
    limit: int | None
    is_bounded: bool
    parallelism: int
    dead_letters: DeadLetters | None = None
    predicate: Predicate | None = None


@dataclass(frozen=True, slots=True)
class SourceRead:
    """Rows that are to be read.

    Attributes:
        reader: reads the parts.
        parts: each for one task.
        rows: about how many rows they have, and not fewer than these.
        is_shared: whether it costs less to read them where other reads are planned, too.
    """

    reader: PartReader
    parts: tuple[bytes, ...]
    rows: int
    is_shared: bool = False
