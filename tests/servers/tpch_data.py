"""Rows for the tables of TPC-H: random, of the shapes that its queries look for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_NATIONS: Final = (
    ("ALGERIA", 0), ("ARGENTINA", 1), ("BRAZIL", 1), ("CANADA", 1), ("EGYPT", 4),
    ("ETHIOPIA", 0), ("FRANCE", 3), ("GERMANY", 3), ("INDIA", 2), ("INDONESIA", 2),
    ("IRAN", 4), ("IRAQ", 4), ("JAPAN", 2), ("JORDAN", 4), ("KENYA", 0),
    ("MOROCCO", 0), ("MOZAMBIQUE", 0), ("PERU", 1), ("CHINA", 2), ("ROMANIA", 3),
    ("SAUDI ARABIA", 4), ("VIETNAM", 2), ("RUSSIA", 3), ("UNITED KINGDOM", 3),
    ("UNITED STATES", 1),
)  # fmt: skip
_REGIONS: Final = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")
_COLORS: Final = ("green", "forest", "red", "ivory", "plum", "snow", "tan", "wheat", "navy", "lime")
_SIZES: Final = ("SM", "MED", "LG", "JUMBO", "WRAP")
_KINDS: Final = ("CASE", "BOX", "PACK", "PKG", "BAG", "JAR", "CAN", "DRUM")
_FIRST: Final = ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
_SECOND: Final = ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
_METALS: Final = ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
_SEGMENTS: Final = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_PRIORITIES: Final = ("1-URGENT", "2-HIGH", "3-MEDIUM", "4-NOT SPECIFIED", "5-LOW")
_MODES: Final = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB", "AIR REG")
_INSTRUCTIONS: Final = ("DELIVER IN PERSON", "COLLECT COD", "NONE", "TAKE BACK RETURN")
_FIRST_DAY: Final = 8035
"""1992-01-01, in days since 1970."""
_DAYS: Final = 2405
"""In which orders are made, up to August 1998."""
_TODAY: Final = 9298
"""1995-06-17: what is shipped later is open."""
_LINES_MAX: Final = 7

MONEY: Final = pa.decimal128(15, 2)
KEYS: Final = {
    "region": ("r_regionkey",),
    "nation": ("n_nationkey",),
    "supplier": ("s_suppkey",),
    "part": ("p_partkey",),
    "partsupp": ("ps_partkey", "ps_suppkey"),
    "customer": ("c_custkey",),
    "orders": ("o_orderkey",),
    "lineitem": ("l_orderkey", "l_linenumber"),
}
"""The tables, each with its primary key."""


@dataclass(frozen=True, slots=True)
class TpchData:
    """Tables of one scale; 1 is a gigabyte: six million lines of 1.5 million orders."""

    scale: float
    seed: int = 1

    def tables(self) -> dict[str, pa.Table]:
        """All tables, by name."""
        return {**self._small(), **self.orders(np.arange(self._orders) * 4 + 1)}

    def orders(self, keys: np.ndarray[Any, Any]) -> dict[str, pa.Table]:
        """Orders with these keys, and one to seven lines of each.

        Keys 1, 5, 9, … are those of `tables`; RF1 of the benchmark inserts others.
        """
        dice = self._dice(int(keys[0]) if len(keys) else 0)
        days = _FIRST_DAY + dice.integers(0, _DAYS, len(keys))
        counts = dice.integers(1, _LINES_MAX + 1, len(keys))
        large = dice.random(len(keys)) < 0.01
        counts[large] = _LINES_MAX
        # A third of the customers never orders.
        customers = dice.integers(0, max(1, self._customers // 3), len(keys)) * 3 + 1
        lines = self._lines(dice, keys, days, counts, large)
        ends = np.cumsum(counts)
        open_lines = np.add.reduceat(
            pc.equal(lines["l_linestatus"], "O").to_numpy(False) * 1, ends - counts
        )
        prices = np.add.reduceat(
            lines["l_extendedprice"].cast(pa.float64()).to_numpy(), ends - counts
        )
        status = np.where(open_lines == 0, "F", np.where(open_lines == counts, "O", "P"))
        orders = {
            "o_orderkey": pa.array(keys, pa.int64()),
            "o_custkey": pa.array(customers, pa.int64()),
            "o_orderstatus": pa.array(status),
            "o_totalprice": _money(prices * 100),
            "o_orderdate": _date(days),
            "o_orderpriority": _any_of(dice, _PRIORITIES, len(keys)),
            "o_clerk": _numbered("Clerk#", dice.integers(1, 1000, len(keys))),
            "o_shippriority": pa.array(np.zeros(len(keys)), pa.int32()),
            "o_comment": _any_of(
                dice, ("quick", "final", "even", "special packages requests", "bold"), len(keys)
            ),
        }
        return {"orders": pa.table(orders), "lineitem": lines}

    @property
    def _orders(self) -> int:
        return round(1_500_000 * self.scale)

    @property
    def _parts(self) -> int:
        return round(200_000 * self.scale)

    @property
    def _suppliers(self) -> int:
        return round(10_000 * self.scale)

    @property
    def _customers(self) -> int:
        return round(150_000 * self.scale)

    def _dice(self, part: int) -> np.random.Generator:
        return np.random.default_rng((self.seed, part))

    def _lines(
        self,
        dice: np.random.Generator,
        keys: np.ndarray[Any, Any],
        days: np.ndarray[Any, Any],
        counts: np.ndarray[Any, Any],
        large: np.ndarray[Any, Any],
    ) -> pa.Table:
        count = int(counts.sum())
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        parts = dice.integers(0, self._parts, count)
        quantities = np.where(np.repeat(large, counts), 45, 1) + dice.integers(0, 6, count)
        quantities = np.where(np.repeat(large, counts), quantities, dice.integers(1, 51, count))
        shipped = np.repeat(days, counts) + dice.integers(1, 122, count)
        committed = np.repeat(days, counts) + dice.integers(30, 91, count)
        received = shipped + dice.integers(1, 31, count)
        returned = np.where(dice.random(count) < 0.5, "R", "A")
        return pa.table(
            {
                "l_orderkey": pa.array(np.repeat(keys, counts), pa.int64()),
                "l_partkey": pa.array(parts + 1, pa.int64()),
                "l_suppkey": pa.array(
                    self._supplier_of(parts, dice.integers(0, 4, count)), pa.int64()
                ),
                "l_linenumber": pa.array(np.arange(count) - starts + 1, pa.int32()),
                "l_quantity": _money(quantities * 100),
                "l_extendedprice": _money(quantities * _prices(parts)),
                "l_discount": _money(dice.integers(0, 11, count)),
                "l_tax": _money(dice.integers(0, 9, count)),
                "l_returnflag": pa.array(np.where(received <= _TODAY, returned, "N")),
                "l_linestatus": pa.array(np.where(shipped > _TODAY, "O", "F")),
                "l_shipdate": _date(shipped),
                "l_commitdate": _date(committed),
                "l_receiptdate": _date(received),
                "l_shipinstruct": _any_of(dice, _INSTRUCTIONS, count),
                "l_shipmode": _any_of(dice, _MODES, count),
                "l_comment": _any_of(dice, ("carefully", "slyly", "regular"), count),
            }
        )

    def _supplier_of(
        self, parts: np.ndarray[Any, Any], which: np.ndarray[Any, Any]
    ) -> np.ndarray[Any, Any]:
        """One of the four suppliers that a part has."""
        suppliers: np.ndarray[Any, Any] = parts + which * (self._suppliers // 4)
        return suppliers % self._suppliers + 1

    def _small(self) -> dict[str, pa.Table]:
        dice = self._dice(0)
        return {
            "region": pa.table(
                {
                    "r_regionkey": pa.array(range(len(_REGIONS)), pa.int64()),
                    "r_name": list(_REGIONS),
                    "r_comment": ["of the world"] * len(_REGIONS),
                }
            ),
            "nation": pa.table(
                {
                    "n_nationkey": pa.array(range(len(_NATIONS)), pa.int64()),
                    "n_name": [name for name, _ in _NATIONS],
                    "n_regionkey": pa.array([region for _, region in _NATIONS], pa.int64()),
                    "n_comment": ["of a region"] * len(_NATIONS),
                }
            ),
            "supplier": self._supplier(dice),
            "part": self._part(dice),
            "partsupp": self._partsupp(dice),
            "customer": self._customer(dice),
        }

    def _supplier(self, dice: np.random.Generator) -> pa.Table:
        count = self._suppliers
        keys, nations = np.arange(count) + 1, dice.integers(0, len(_NATIONS), count)
        return pa.table(
            {
                "s_suppkey": pa.array(keys, pa.int64()),
                "s_name": _numbered("Supplier#", keys),
                "s_address": _numbered("Street ", dice.integers(0, 1000, count)),
                "s_nationkey": pa.array(nations, pa.int64()),
                "s_phone": _phones(dice, nations),
                "s_acctbal": _money(dice.integers(-99_999, 1_000_000, count)),
                "s_comment": _any_of(
                    dice, ("quick", "even", "bold", "Customer has Complaints"), count
                ),
            }
        )

    def _part(self, dice: np.random.Generator) -> pa.Table:
        count = self._parts
        keys = np.arange(count)
        colors = [_any_of(dice, _COLORS, count) for _ in range(2)]
        maker, brand = dice.integers(1, 6, count), dice.integers(1, 6, count)
        brands = pc.cast(pa.array(maker * 10 + brand), pa.string())
        return pa.table(
            {
                "p_partkey": pa.array(keys + 1, pa.int64()),
                "p_name": pc.binary_join_element_wise(*colors, " "),
                "p_mfgr": _numbered("Manufacturer#", maker),
                "p_brand": pc.binary_join_element_wise("Brand", brands, "#"),
                "p_type": _words(dice, (_FIRST, _SECOND, _METALS), count),
                "p_size": pa.array(dice.integers(1, 51, count), pa.int32()),
                "p_container": _words(dice, (_SIZES, _KINDS), count),
                "p_retailprice": _money(_prices(keys)),
                "p_comment": _any_of(dice, ("thin", "round", "old"), count),
            }
        )

    def _partsupp(self, dice: np.random.Generator) -> pa.Table:
        parts = np.repeat(np.arange(self._parts), 4)
        which = np.tile(np.arange(4), self._parts)
        return pa.table(
            {
                "ps_partkey": pa.array(parts + 1, pa.int64()),
                "ps_suppkey": pa.array(self._supplier_of(parts, which), pa.int64()),
                "ps_availqty": pa.array(dice.integers(1, 10_000, len(parts)), pa.int32()),
                "ps_supplycost": _money(dice.integers(100, 100_001, len(parts))),
                "ps_comment": _any_of(dice, ("thin", "round", "old"), len(parts)),
            }
        )

    def _customer(self, dice: np.random.Generator) -> pa.Table:
        count = self._customers
        keys, nations = np.arange(count) + 1, dice.integers(0, len(_NATIONS), count)
        return pa.table(
            {
                "c_custkey": pa.array(keys, pa.int64()),
                "c_name": _numbered("Customer#", keys),
                "c_address": _numbered("Road ", dice.integers(0, 1000, count)),
                "c_nationkey": pa.array(nations, pa.int64()),
                "c_phone": _phones(dice, nations),
                "c_acctbal": _money(dice.integers(-99_999, 1_000_000, count)),
                "c_mktsegment": _any_of(dice, _SEGMENTS, count),
                "c_comment": _any_of(dice, ("quick", "even", "bold"), count),
            }
        )


def _prices(parts: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The price of each part, in hundredths."""
    prices: np.ndarray[Any, Any] = 90_000 + parts // 10 % 20_001 + 100 * (parts % 1_000)
    return prices


def _money(hundredths: np.ndarray[Any, Any]) -> pa.Array:
    whole = pa.array(np.rint(hundredths).astype(np.int64)).cast(pa.decimal128(19, 0))
    # The same integers, read as hundredths.
    return pa.Array.from_buffers(MONEY, len(whole), whole.buffers())


def _date(days: np.ndarray[Any, Any]) -> pa.Array:
    return pa.array(days, pa.int32()).cast(pa.date32())


def _any_of(dice: np.random.Generator, words: Sequence[str], count: int) -> pa.Array:
    return pa.array(words).take(pa.array(dice.integers(0, len(words), count)))


def _words(dice: np.random.Generator, lists: Sequence[Sequence[str]], count: int) -> pa.Array:
    return pc.binary_join_element_wise(*(_any_of(dice, words, count) for words in lists), " ")


def _numbered(name: str, numbers: np.ndarray[Any, Any]) -> pa.Array:
    return pc.binary_join_element_wise(name, pc.cast(pa.array(numbers), pa.string()), "")


def _phones(dice: np.random.Generator, nations: np.ndarray[Any, Any]) -> pa.Array:
    """A number whose first two digits are those of its country."""
    numbers = (nations + 10) * 1_000_000 + dice.integers(0, 1_000_000, len(nations))
    return pc.cast(pa.array(numbers), pa.string())
