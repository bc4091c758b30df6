"""Goal: what the documents say of options, errors, rooms and demos is what the code says."""

from __future__ import annotations

import re

import pytest

from page_writers.condition_list import paragraphs_of, with_conditions
from page_writers.conditions import Condition, all_conditions
from page_writers.marked_part import MarkedPart
from page_writers.rooms import room_graph, room_lines
from page_writers.scripts import with_scripts
from page_writers.site_pages import linked
from table_store.storage.options.option_table import option_table
from tests.checkout import REPOSITORY

DOCS = REPOSITORY / "docs"
WORDS_MIN = 4


def page(name: str) -> str:
    return (DOCS / f"{name}.md").read_text(encoding="utf-8")


def test_options_are_those_declared() -> None:
    text = page("options")
    assert MarkedPart("options").replaced(text, option_table()) == text, "run `make docs`"


def test_conditions_are_those_declared() -> None:
    text = page("operations")
    assert with_conditions(text, all_conditions()) == text, "run `make docs`"


def test_scripts_are_those_of_the_demo() -> None:
    text = page("warehouse")
    assert with_scripts(text) == text, "run `make docs`"


def test_every_condition_has_a_paragraph() -> None:
    paragraphs = paragraphs_of(page("operations"))
    assert set(paragraphs) == {condition.name for condition in all_conditions()}
    silent = [name for name, text in paragraphs.items() if len(text.split()) < WORDS_MIN]
    assert not silent


def test_conditions_come_from_all_places() -> None:
    found = {condition.name: condition for condition in all_conditions()}
    assert found["TABLE_STORE_COMMIT_CONFLICT"].is_retriable
    assert found["TABLE_STORE_LOG_UNAVAILABLE"].sql_state == "08001"
    assert found["TABLE_STORE_LISTENER_FAILED"].sql_state == "38000"
    assert found["TABLE_STORE_PLANNER_LOST"].sql_state == "58000"
    assert found["TABLE_STORE_INTERNAL_ERROR"].sql_state == "58000"


def test_every_name_in_the_sources_of_the_jvm_is_a_condition() -> None:
    known = {condition.name for condition in all_conditions()}
    for source in (REPOSITORY / "catalog" / "bridge").rglob("*.scala"):
        named = re.findall(r"\[(TABLE_STORE_[A-Z_]+)\]", source.read_text(encoding="utf-8"))
        assert set(named) <= known, source


def test_a_new_condition_gets_a_section_and_an_old_one_keeps_its_paragraph() -> None:
    text = "# x\n<!-- conditions: written -->\n<!-- end of conditions -->\nend\n"
    one = Condition("TABLE_STORE_ONE", "00001", True, "It happened.")
    text = with_conditions(text, [one])
    assert paragraphs_of(text) == {"TABLE_STORE_ONE": ""}
    section = "### TABLE_STORE_ONE\n\n*SQLSTATE 00001 · may be run again* It happened.\n"
    assert section in text
    text = text.replace(section, f"{section}\nDo this.\n\nThen that.\n")
    both = with_conditions(text, [Condition("TABLE_STORE_NEW", "00002", False, ""), one])
    assert paragraphs_of(both) == {
        "TABLE_STORE_NEW": "",
        "TABLE_STORE_ONE": "Do this.\n\nThen that.",
    }
    assert both.endswith("<!-- end of conditions -->\nend\n")


def test_rooms_are_those_of_the_imports() -> None:
    text = page("contributing")
    lines = f"```text\n{room_lines(room_graph())}```"
    assert MarkedPart("rooms").replaced(text, lines) == text, "run `make docs`"


def test_rooms_that_import_each_other_are_refused() -> None:
    graph = {"a": frozenset({"b"}), "b": frozenset({"c"}), "c": frozenset({"b"})}
    with pytest.raises(ValueError, match="import each other: a, b, c"):
        room_lines(graph)


def test_what_is_reached_through_another_room_is_left_out() -> None:
    graph = {"a": frozenset({"b", "c"}), "b": frozenset({"c"}), "c": frozenset[str]()}
    assert room_lines(graph) == "a  → b\nb  → c\nc  → –\n"


@pytest.mark.parametrize(
    ("written", "in_the_site"),
    [
        ("[a](docs/sql.md)", "[a](sql.md)"),
        ("[a](sql.md#writing)", "[a](sql.md#writing)"),
        ("[a](../storage/FORMAT.md#json-files)", "[a](table-format.md#json-files)"),
        ("[a](catalog/FORMAT.md)", "[a](warehouse-format.md)"),
        ("[a](https://example.org/x.md)", "[a](https://example.org/x.md)"),
    ],
)
def test_links_of_the_repository_lead_to_pages_of_the_site(written: str, in_the_site: str) -> None:
    assert linked(written) == in_the_site


def test_readme_is_one_page() -> None:
    assert len((REPOSITORY / "README.md").read_text(encoding="utf-8").splitlines()) <= 120
