"""A shop whose database is busy: orders come, change, are refunded and cancelled.

`python shop.py SOCKET DATABASE RATE` trades, about RATE transactions each second, until
SIGTERM; the standard output then says how much that was.
"""

from __future__ import annotations

import random
import signal
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pymysql

CLOSED_DAY = "2021-12-05"
DAYS = ("2021-12-06", "2021-12-07", "2021-12-08")
_CLOSED_CATEGORIES = 20
"""Categories up to this one have orders of the closed day, and stay where they are."""
_CATEGORIES = 60
_PARENTS = 8
_COUNTED = "SELECT order_id FROM orders WHERE gmt_create >= %s"
_ORDER = "INSERT INTO orders VALUES (%s, %s, %s, %s)"
_CATEGORY = "INSERT INTO category VALUES (%s, %s)"


def opening(orders: int) -> tuple[str, ...]:
    """Return the statements that make the tables, with so many orders; a tenth are refunds.

    A quarter of them are of the closed day, on which nothing happens any more.
    """
    days = ", ".join(f"'{day}'" for day in (CLOSED_DAY, *DAYS))
    closed = f"seq % 4 = 0, 1 + seq DIV 4 % {_CLOSED_CATEGORIES}"
    return (
        "CREATE TABLE category (cate_id VARCHAR(20) PRIMARY KEY, parent_cate_id VARCHAR(20))",
        """CREATE TABLE orders (
            order_id VARCHAR(20) PRIMARY KEY, cate_id VARCHAR(20), trans_amount BIGINT,
            gmt_create VARCHAR(19)
        )""",
        f"""INSERT INTO category
            SELECT concat('c', seq), concat('p', 1 + seq % {_PARENTS})
            FROM seq_1_to_{_CATEGORIES}""",
        f"""INSERT INTO orders
            SELECT concat('o', seq),
                concat('c', IF({closed}, 1 + seq DIV 4 % {_CATEGORIES})),
                IF(seq % 10 = 7 OR seq % 20 = 4, -1, 1) * CAST(1 + seq % 499 AS SIGNED),
                concat(ELT(1 + seq % 4, {days}), ' ', SEC_TO_TIME(seq * 7 % 86400))
            FROM seq_1_to_{orders}""",
    )


class Shop:
    """Trades by transactions that one random choice after the other decides."""

    def __init__(self, connection: Any, choice: random.Random) -> None:
        """Take over a database as `opening` makes it; the connection does not commit by itself."""
        self._connection = connection
        self._choice = choice
        with connection.cursor() as cursor:
            cursor.execute(_COUNTED, (DAYS[0],))
            self._orders = [row[0] for row in cursor.fetchall()]
        self._categories = _CATEGORIES
        self._number = 0
        self.rows_changed = 0
        self.transactions = 0

    def trade(self) -> None:
        """Run one transaction of one to four statements."""
        with self._connection.cursor() as cursor:
            for _ in range(self._choice.randint(1, 4)):
                for statement, values in self._statements():
                    self.rows_changed += cursor.execute(statement, values)
        self._connection.commit()
        self.transactions += 1

    def _statements(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        draw = self._choice.random()
        if draw < 0.5 or len(self._orders) < 100:
            yield self._new_order(self._any_category(), self._choice.randint(1, 500))
        elif draw < 0.7:
            amount = self._choice.randint(1, 500)
            yield (
                "UPDATE orders SET trans_amount = %s WHERE order_id = %s",
                (amount, self._any_order()),
            )
        elif draw < 0.8:  # a refund
            yield self._new_order(self._any_category(), -self._choice.randint(1, 100))
        elif draw < 0.9:  # a cancellation
            yield "DELETE FROM orders WHERE order_id = %s", (self._any_order(is_taken=True),)
        elif draw < 0.94:  # into another partition of DWD
            yield (
                "UPDATE orders SET gmt_create = %s WHERE order_id = %s",
                (self._any_time(), self._any_order()),
            )
        elif draw < 0.99:
            yield (
                "UPDATE orders SET cate_id = %s WHERE order_id = %s",
                (self._any_category(), self._any_order()),
            )
        elif draw < 0.995:  # a new category, whose first order was there before it
            self._categories += 1
            name = f"c{self._categories}"
            yield self._new_order(name, self._choice.randint(1, 500))
            yield _CATEGORY, (name, self._any_parent())
        else:  # all its orders move
            moved = self._choice.randint(_CLOSED_CATEGORIES + 1, self._categories)
            yield (
                "UPDATE category SET parent_cate_id = %s WHERE cate_id = %s",
                (self._any_parent(), f"c{moved}"),
            )

    def _new_order(self, category: str, amount: int) -> tuple[str, tuple[object, ...]]:
        self._number += 1
        name = f"n{self._number}"
        self._orders.append(name)
        return _ORDER, (name, category, amount, self._any_time())

    def _any_order(self, *, is_taken: bool = False) -> str:
        at = self._choice.randrange(len(self._orders))
        found: str = self._orders[at]
        if is_taken:
            self._orders[at] = self._orders[-1]
            self._orders.pop()
        return found

    def _any_category(self) -> str:
        return f"c{self._choice.randint(1, self._categories)}"

    def _any_parent(self) -> str:
        return f"p{self._choice.randint(1, _PARENTS)}"

    def _any_time(self) -> str:
        second = self._choice.randrange(86_400)
        clock = f"{second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}"
        return f"{self._choice.choices(DAYS, (1, 1, 8))[0]} {clock}"


def main() -> None:
    """Trade until SIGTERM."""
    is_over = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: is_over.set())
    socket, database, rate = sys.argv[1:]
    connection = pymysql.connect(unix_socket=socket, user="root", database=database)
    shop = Shop(connection, random.Random(7))
    begin = time.monotonic()
    while not is_over.is_set():
        shop.trade()
        ahead = shop.transactions / float(rate) - (time.monotonic() - begin)
        if ahead > 0:
            is_over.wait(ahead)
    seconds = time.monotonic() - begin
    print(
        f"{shop.transactions:,} transactions changed {shop.rows_changed:,} rows in {seconds:.0f} s"
    )


if __name__ == "__main__":
    main()
