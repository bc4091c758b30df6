"""Goal: a system is looked at once for a barrier, and again only for who is further already."""

from __future__ import annotations

from table_store.catalog.connectors.positions.moment import Moment


def test_a_system_is_looked_at_once() -> None:
    moment, answers = Moment(), iter(range(5, 100))

    def looked(system: str, reached: int) -> int:
        return moment.looked(system, lambda: next(answers), lambda seen: seen < reached)

    asked = (("one", 0), ("one", 5), ("other", 9), ("one", 1), ("one", 6), ("one", 0))
    found = [(looked(*one), moment.is_one) for one in asked]
    assert found == [(5, True), (5, True), (6, True), (5, True), (7, False), (7, False)]
