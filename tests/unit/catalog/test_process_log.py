"""Goal: a log in JSON has one object a line, whatever stands in the message."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator

import pytest

from table_store.catalog.process_log import set_up_log


@pytest.fixture(autouse=True)
def _root_as_before() -> Iterator[None]:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield
    root.handlers[:], level = before
    root.setLevel(level)


def test_an_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(is_json=True)
    log = logging.getLogger("table_store.somewhere")
    log.info("of no interest")
    log.warning("two\nlines of %r", "\u00fc")
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("failed")
    first, second = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (first["level"], first["logger"]) == ("WARNING", "table_store.somewhere")
    assert first["message"] == "two\nlines of '\u00fc'"
    assert "trace" not in first
    assert second["level"] == "ERROR"
    assert second["trace"].endswith("ValueError: broken")


def test_lines_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    set_up_log(is_json=False)
    logging.getLogger("somewhere").warning("a message")
    assert capsys.readouterr().err.endswith("WARNING somewhere a message\n")
