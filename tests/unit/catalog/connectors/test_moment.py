"""Goal: a system is looked at once for a barrier, and again only for who is further already."""

from __future__ import annotations

from table_store.catalog.connectors.moment import Moment


def test_a_system_is_looked_at_once() -> None:
    moment, answers = Moment(), iter(range(5, 100))

    def looked(system: str, reached: int) -> int:
        return moment.looked(system, lambda: next(answers), lambda seen: seen < reached)

    assert [looked("one", 0), looked("one", 5), looked("other", 9), looked("one", 1)] == [
        5,
        5,
        6,
        5,
    ]
    assert moment.is_one
    assert looked("one", 6) == 7
    assert not moment.is_one
    assert looked("one", 0) == 7
    assert not moment.is_one
