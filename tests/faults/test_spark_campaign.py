"""Goal: a small part of the campaign's faults under Spark holds in every run of the suite."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.campaign.run import run_case
from tests.campaign.spark_program import end_spark_program
from tests.campaign.spark_techniques import SPARK_TECHNIQUES
from tests.campaign.technique import Technique

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SEED = 1
IN_THE_SUITE = [technique for technique in SPARK_TECHNIQUES if technique.suite_cases]


@pytest.fixture(scope="module", autouse=True)
def one_spark() -> Iterator[None]:
    """All techniques share one JVM, which ends with this module."""
    yield
    end_spark_program()


@pytest.mark.parametrize("technique", IN_THE_SUITE, ids=lambda technique: technique.name)
def test_the_first_cases_hold(technique: Technique, tmp_path: Path) -> None:
    counts: Counter[str] = Counter()
    for number in range(technique.suite_cases):
        counts.update(run_case(technique, SEED, number, tmp_path))
    assert counts.total(), "something was tried"
