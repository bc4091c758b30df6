"""Goal: the documents' SQL runs in the stock shell as it stands, and prints what they say."""

from __future__ import annotations

import itertools

import pytest

from tests.documents import Example, examples
from tests.integration.stock_shell import StockShell

PAGES = {
    page: list(blocks) for page, blocks in itertools.groupby(examples("sql"), key=lambda e: e.page)
}
WITHOUT_SERVERS = [
    page
    for page, blocks in PAGES.items()
    if not any(block.needs_brokers or block.needs_database for block in blocks)
]

pytestmark = pytest.mark.spark


def test_there_are_examples() -> None:
    assert {"readme", "sql", "changes"} <= set(WITHOUT_SERVERS)
    assert "kafka" in PAGES


@pytest.mark.parametrize("page", WITHOUT_SERVERS)
def test_examples_print_what_the_page_says(page: str, shell: StockShell) -> None:
    shell.ok(f"CREATE NAMESPACE doc_{page}")
    shell.ok(f"USE doc_{page}")
    for example in PAGES[page]:
        run = example.with_folder(str(shell.folder / page))
        assert printed(run, shell) == example.printed, f"{page}, line {example.line}"
    shell.ok(f"USE {shell.namespace}")


def printed(example: Example, shell: StockShell) -> tuple[tuple[str, ...], ...]:
    """Run all statements; return the words of each row that the queries among them print."""
    rows = []
    for statement in example.statements():
        answer = shell.ok(statement)
        if statement.startswith("SELECT"):
            rows += [tuple(" ".join(row).split()) for row in answer]
    return tuple(rows)
