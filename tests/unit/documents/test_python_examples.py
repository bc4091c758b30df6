"""Goal: the documents' examples in Python without Spark print what the pages say."""

from __future__ import annotations

import contextlib
import io
import itertools
import os
from pathlib import Path
from unittest import mock

import pytest

from tests.documents import Example, examples, words
from tests.fakes import served_s3

S3_ENDPOINT = "http://127.0.0.1:9000"
PAGES = {
    page: list(blocks)
    for page, blocks in itertools.groupby(
        (
            example
            for example in examples("python")
            if not (example.needs_spark or example.needs_brokers or example.needs_database)
        ),
        key=lambda e: e.page,
    )
}


def test_there_are_examples() -> None:
    assert set(PAGES) >= {"readme", "python", "object-stores"}


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.object_store] if page == "object-stores" else [])
        for page in PAGES
    ],
)
def test_examples_print_what_the_page_says(page: str, tmp_path: Path) -> None:
    options = dict(served_s3.start()) if page == "object-stores" else {"endpoint": S3_ENDPOINT}
    known: dict[str, object] = {"folder": str(tmp_path)}
    # What an example sets there is taken back.
    with mock.patch.dict(os.environ):
        for example in PAGES[page]:
            ran = printed(example.with_text(S3_ENDPOINT, options["endpoint"]), known)
            assert ran == example.printed, f"{page}, line {example.line}"


def printed(example: Example, known: dict[str, object]) -> tuple[tuple[str, ...], ...]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(example.code, known)
    return words(out.getvalue())
