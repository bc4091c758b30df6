"""UPDATE and MERGE that change keys, beside a model of the rows; and MERGE from many sessions.

A statement that would leave two rows with one key is refused and changes nothing. MERGE statements
that only insert, at once and of different keys, all succeed.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.campaign.spark_program import arrow_answer
from tests.campaign.spark_two_faces import session_of
from tests.campaign.technique import Case, Counts, Technique
from tests.values.edges import edges
from tests.values.sql_values import sql_value

Row = tuple[int | None, int | None, bytes | None]

_STEPS: Final = 8
_AT_ONCE: Final = 3
_KEYS: Final = range(-3, 8)


@dataclass
class Keys:
    """A table with the key `k`, and the rows that it must have."""

    session: SparkSession
    dice: random.Random
    said: list[str]
    rows: dict[int, Row] = field(default_factory=dict)
    refused: int = 0

    def run(self, statement: str, new: Sequence[Row], *, may_fail: bool = False) -> None:
        """Run a statement after which these are the rows; two of one key must be refused."""
        self.said.append(statement)
        keys = [row[0] for row in new]
        is_wrong = len(set(keys)) < len(keys) or None in keys
        try:
            self.session.sql(statement).collect()
        except PySparkException as error:
            self.refused += 1
            condition = error.getCondition() or "INTERNAL_ERROR"
            if condition == "INTERNAL_ERROR" or not (is_wrong or may_fail):
                raise
            self.said.append(f"-- {condition}")
        else:
            assert not is_wrong, f"two rows of one key were not refused: {statement}"
            self.rows = {row[0]: row for row in new if row[0] is not None}
        self.check(statement)

    def check(self, statement: str) -> None:
        """The table has the rows."""
        answer = arrow_answer(self.session.sql("SELECT k, n, CAST(v AS BINARY) AS v FROM t"))
        found = Counter(zip(*(column.to_pylist() for column in answer.columns), strict=True))
        wanted = Counter(self.rows.values())
        assert found == wanted, f"{statement}: {found - wanted} too many, {wanted - found} missing"

    def draw_row(self) -> Row:
        """A row of any key."""
        value = self.dice.choice([*edges("STRING")[:6], b"x" * 600, None])
        return self.dice.choice(_KEYS), self.dice.choice([None, *_KEYS]), value

    def insert(self) -> None:
        """INSERT replaces the rows with its keys."""
        rows = list({row[0]: row for row in (self.draw_row() for _ in range(4))}.values())
        merged = {**self.rows, **{row[0]: row for row in rows if row[0] is not None}}
        self.run(f"INSERT INTO t {self._query(rows)}", list(merged.values()))

    def update(self) -> None:
        """UPDATE that assigns the key."""
        number = self.dice.choice(_KEYS)
        text, key = self.dice.choice(self._new_keys(number))
        where, holds = self.dice.choice(self._conditions(self.dice.choice(_KEYS)))
        new = [(key(row), *row[1:]) if holds(row) else row for row in self.rows.values()]
        self.run(f"UPDATE t SET k = {text} WHERE {where}", new)

    def _new_keys(self, number: int) -> list[tuple[str, Callable[[Row], int | None]]]:
        return [
            ("k + 1", lambda row: (row[0] or 0) + 1),
            ("k - 3", lambda row: (row[0] or 0) - 3),
            ("-k", lambda row: -(row[0] or 0)),
            (f"{number}", lambda row: number),
            ("coalesce(n, k)", lambda row: row[0] if row[1] is None else row[1]),
            ("k", lambda row: row[0]),
        ]

    def _conditions(self, number: int) -> list[tuple[str, Callable[[Row], bool]]]:
        return [
            ("true", lambda row: True),
            (f"k = {number}", lambda row: row[0] == number),
            (f"k > {number}", lambda row: row[0] is not None and row[0] > number),
            (f"n = {number}", lambda row: row[1] == number),
            ("v IS NULL", lambda row: row[2] is None),
        ]

    def merge(self) -> None:
        """MERGE by the key or by another column, which inserts, and updates n or the key."""
        source = [self.draw_row() for _ in range(self.dice.choice([1, 2, 4]))]
        at = self.dice.choice([0, 0, 1])
        column = "kn"[at]
        clause = self.dice.choice(["", "n", "k", "*"])
        new, came = [], []
        matched: set[int] = set()
        may_fail = False
        for row in self.rows.values():
            found = [number for number, s in enumerate(source) if _equal(row[at], s[at])]
            matched.update(found)
            # Spark refuses two source rows of one target, if that is updated.
            may_fail = may_fail or (len(found) > 1 and bool(clause))
            new.append(_changed(row, source[found[0]], clause) if found else row)
        came = [s for number, s in enumerate(source) if number not in matched]
        update = {
            "": "",
            "n": "WHEN MATCHED THEN UPDATE SET n = s.n ",
            "k": "WHEN MATCHED THEN UPDATE SET k = s.k ",
            "*": "WHEN MATCHED THEN UPDATE SET * ",
        }[clause]
        statement = (
            f"MERGE INTO t USING ({self._query(source)}) AS s ON t.{column} = s.{column} {update}"
            "WHEN NOT MATCHED THEN INSERT *"
        )
        if may_fail:  # whatever the rows would be, the statement is refused
            new.append(new[0])
        self.run(statement, [*new, *came])

    def merge_at_once(self) -> None:
        """Several sessions insert different keys, and all of them succeed."""
        first = 100 + 10 * len(self.said)
        rows = [[(first + 3 * at + i, i, b"new") for i in range(3)] for at in range(_AT_ONCE)]

        def merge(some: list[Row]) -> None:
            session = self.session.newSession()
            session.sql(f"USE {self.session.catalog.currentCatalog()}")
            session.sql(
                f"MERGE INTO t USING ({self._query(some)}) AS s ON t.k = s.k "
                "WHEN NOT MATCHED THEN INSERT *"
            ).collect()

        self.said.append(f"{_AT_ONCE} MERGE statements at once from key {first}")
        with ThreadPoolExecutor(_AT_ONCE) as threads:
            list(threads.map(merge, rows))
        for row in (row for some in rows for row in some):
            self.rows[row[0] or 0] = row
        self.check(self.said[-1])

    def _query(self, rows: Sequence[Row]) -> str:
        kinds = ("INT", "INT", "STRING")
        listed = (", ".join(map(sql_value, row, kinds)) for row in rows)
        return f"SELECT * FROM VALUES {', '.join(f'({row})' for row in listed)} AS q(k, n, v)"


def _equal(one: object, other: object) -> bool:
    return one is not None and one == other


def _changed(row: Row, source: Row, clause: str) -> Row:
    if clause == "*":
        return source
    return (source[0] if clause == "k" else row[0], source[1] if clause == "n" else row[1], row[2])


def run_case(case: Case) -> Counts:
    """Change the keys of one table."""
    dice = case.random()
    keys = Keys(session_of(case, dice), dice, case.said)
    bucket = dice.choice(["1", "2"])
    keys.session.sql(
        "CREATE TABLE t (k INT, n INT, v STRING, PRIMARY KEY (k) NOT ENFORCED) "
        f"TBLPROPERTIES ('bucket' = '{bucket}')"
    )
    keys.insert()
    for _ in range(_STEPS):
        dice.choice([keys.insert, keys.update, keys.update, keys.merge, keys.merge])()
    keys.merge_at_once()
    return {"statements": len(keys.said), "refused": keys.refused}


SPARK_KEY_CHANGES: Final = Technique(
    name="spark-key-changes",
    goal="no statement leaves two rows with one key or loses one; MERGE at once succeeds",
    suite_cases=0,
    release_cases=1_000,
    run_case=run_case,
    needs_spark=True,
)
