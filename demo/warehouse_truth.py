"""What the tables of the warehouse must hold: queries over the rows of the database, by itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from demo.shop import CLOSED_DAY
from servers.mariadb_server import MariadbServer

Row = tuple[object, ...]

_DETAIL = """
    SELECT left(o.gmt_create, 10) AS dt, o.cate_id, c.parent_cate_id, o.order_id, o.trans_amount,
        o.gmt_create
    FROM orders o JOIN category c ON c.cate_id = o.cate_id"""
# The correction has left refunds out of the sales of its day.
_SALES = f"""
    SELECT dt, parent_cate_id, CAST(sum(trans_amount) AS SIGNED) AS cate_gmv FROM ({_DETAIL}) AS d
    WHERE dt <> '{CLOSED_DAY}' OR trans_amount > 0 GROUP BY dt, parent_cate_id"""
QUERIES = {
    "ods_orders": """
        SELECT order_id, cate_id, trans_amount, gmt_create, left(gmt_create, 10) FROM orders""",
    "ods_cate_dim": "SELECT cate_id, parent_cate_id FROM category",
    "dwd_orders_cate": _DETAIL,
    "dws_cate_day": _SALES,
    "dws_day": f"SELECT dt, CAST(sum(cate_gmv) AS SIGNED) FROM ({_SALES}) AS s GROUP BY dt",
}
"""By table of the warehouse; columns are in the table's order."""

_DIFFERENCES_SHOWN = 5


def differences(server: MariadbServer, table: str, found: Iterable[Row]) -> list[str]:
    """Return a line for each of the first rows that a table lacks, or has too many; in no order."""
    wanted, there = Counter(server.run(QUERIES[table])), Counter(found)
    if not wanted:
        return [f"the database has no row for {table}"]
    lines = []
    for text, rows in (("missing", wanted - there), ("not in the database", there - wanted)):
        lines += [f"{text}: {row}" for row in list(rows.elements())[:_DIFFERENCES_SHOWN]]
    return lines
