"""The queries of Nexmark that have no window over time, over its tables person, auction and bid.

They are those of the benchmark's public definition, in words that Spark and DuckDB share; where it
leaves the order of equal rows open they have one. `date_format` is Spark's function.
"""

from __future__ import annotations

from typing import Final

_WON: Final = """
    FROM auction AS A JOIN bid AS B ON A.id = B.auction
      AND B.dateTime BETWEEN A.dateTime AND A.expires"""
"""The bids that came in time."""

_CLASSES: Final = ", ".join(
    f"{counted} FILTER (WHERE {prices}) AS rank{at}_{what}"
    if prices
    else f"{counted} AS total_{what}"
    for what, counted in (
        ("bids", "count(*)"),
        ("bidders", "count(DISTINCT bidder)"),
        ("auctions", "count(DISTINCT auction)"),
    )
    for at, prices in enumerate(
        ("", "price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
    )
)
"""Bids, bidders and auctions: all, and those of cheap, middle and dear bids."""

_DAY: Final = "date_format(dateTime, 'yyyy-MM-dd')"
_CHANNEL_ID: Final = "regexp_extract(url, '(&|^)channel_id=([^&]*)', 2)"
_KNOWN_CHANNELS: Final = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"

NEXMARK: Final[dict[str, str]] = {
    "q0": "SELECT auction, bidder, price, dateTime, extra FROM bid",
    "q1": "SELECT auction, bidder, 0.908 * price AS price, dateTime, extra FROM bid",
    "q2": "SELECT auction, price FROM bid WHERE mod(auction, 123) = 0",
    "q3": "SELECT P.name, P.city, P.state, A.id FROM auction AS A JOIN person AS P "
    "ON A.seller = P.id WHERE A.category = 10 AND P.state IN ('OR', 'ID', 'CA')",
    "q4": "SELECT category, avg(final) AS final FROM (SELECT max(B.price) AS final, A.category "
    f"{_WON} GROUP BY A.id, A.category) AS Q GROUP BY category",
    "q9": "SELECT * FROM (SELECT A.*, B.auction, B.bidder, B.price, B.dateTime AS bid_dateTime, "
    "B.extra AS bid_extra, row_number() OVER (PARTITION BY A.id "
    f"ORDER BY B.price DESC, B.dateTime, B.bidder, B.extra) AS rownum {_WON}) AS Q "
    "WHERE rownum <= 1",
    "q14": "SELECT auction, bidder, 0.908 * price AS price, CASE "
    "WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime' "
    "WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END "
    "AS bidTimeType, dateTime, extra, length(extra) - length(replace(extra, 'c', '')) AS c_counts "
    "FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000",
    "q15": f"SELECT {_DAY} AS day, {_CLASSES} FROM bid GROUP BY {_DAY}",
    "q16": f"SELECT channel, {_DAY} AS day, max(date_format(dateTime, 'HH:mm')) AS minute, "
    f"{_CLASSES} FROM bid GROUP BY channel, {_DAY}",
    "q17": f"SELECT auction, {_DAY} AS day, count(*) AS total_bids, "
    "count(*) FILTER (WHERE price < 10000) AS rank1_bids, "
    "count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2_bids, "
    "count(*) FILTER (WHERE price >= 1000000) AS rank3_bids, min(price) AS min_price, "
    "max(price) AS max_price, avg(price) AS avg_price, sum(price) AS sum_price "
    f"FROM bid GROUP BY auction, {_DAY}",
    "q18": "SELECT auction, bidder, price, channel, url, dateTime, extra FROM (SELECT *, "
    "row_number() OVER (PARTITION BY bidder, auction "
    "ORDER BY dateTime DESC, price, channel, url, extra) AS rank_number FROM bid) AS Q "
    "WHERE rank_number <= 1",
    "q19": "SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY auction "
    "ORDER BY price DESC, dateTime, bidder, channel, url, extra) AS rank_number FROM bid) AS Q "
    "WHERE rank_number <= 10",
    "q20": "SELECT auction, bidder, price, channel, url, B.dateTime AS bid_dateTime, "
    "B.extra AS bid_extra, itemName, description, initialBid, reserve, "
    "A.dateTime AS auction_dateTime, expires, seller, category, A.extra AS auction_extra "
    "FROM bid AS B JOIN auction AS A ON B.auction = A.id WHERE A.category = 10",
    "q21": "SELECT auction, bidder, price, channel, CASE lower(channel) WHEN 'apple' THEN '0' "
    "WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' "
    f"ELSE {_CHANNEL_ID} END AS channel_id FROM bid WHERE {_CHANNEL_ID} <> '' OR {_KNOWN_CHANNELS}",
    "q22": "SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, "
    "split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3 FROM bid",
    "q23": "SELECT bidder, price, channel, url, B.extra AS bid_extra, P.id AS person_id, name, "
    "emailAddress, creditCard, city, state, P.extra AS person_extra, itemName, description, "
    "initialBid, reserve, A.dateTime AS auction_dateTime, expires, seller, category, "
    "A.extra AS auction_extra FROM bid AS B JOIN person AS P ON P.id = B.bidder "
    "JOIN auction AS A ON A.seller = B.bidder",
}
"""The queries by name."""
