"""What tests of all kinds share: of each test process one Kafka broker and one JVM for PySpark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import hypothesis
import pytest

from tests.tiers import is_core, is_nightly, without_test

if TYPE_CHECKING:
    from servers.kafka_broker import KafkaBroker

_TARGETS = ("core", "nightly", "not nightly")
"""The choices of tests that the Makefile makes."""

hypothesis.settings.register_profile("untimed", deadline=None)  # of a busy machine nothing follows
hypothesis.settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what each target runs, before a choice by marks is made."""
    for item in items:
        if is_core(item.nodeid):
            item.add_marker("core")
        if is_nightly(item.nodeid):
            item.add_marker("nightly")
    if config.option.markexpr in _TARGETS and (lost := without_test(i.nodeid for i in items)):
        raise pytest.UsageError(f"tests/tiers.py names what is no test: {lost}")


@pytest.fixture(scope="session")
def kafka_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A running broker; tests use topics of their own and leave it running."""
    from servers.kafka_broker import KafkaBroker  # takes its time; most tests need none

    broker = KafkaBroker(tmp_path_factory.mktemp("kafka"))
    broker.start()
    yield broker
    broker.kill()


@pytest.fixture(scope="session", autouse=True)
def _no_jvm_is_left() -> Iterator[None]:
    """The JVM in which modules started Spark one after the other ends behind the last of them."""
    yield
    if (started := sys.modules.get("tests.integration.spark_session")) is not None:
        started.end_shared_jvm()
