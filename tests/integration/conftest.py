"""What integration tests share: running stock shells, in which each module has a namespace."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.integration.shared_shells import SharedShells
from tests.integration.stock_shell import StockShell
from tests.integration.streaming_mode import stop_jobs

# Dozens of JVMs that live for a minute: compiling their code well would cost more than it saves
# (149 s of CPU for two modules of shells, 90 s so). Of that kind of code there is room for 48 MB
# unless more is asked for; a JVM that has used it up compiles nothing any more. A heap that begins
# large is collected less often, and Spark's classes, the same each time, need no verification: of
# 12.4 s of CPU for a shell with six statements 2 s are saved.
_JVM_OPTIONS = (
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=256m",
    "-XX:+UseSerialGC",
    "-XX:MetaspaceSize=256m",
    "-Xms640m",
    "-Xmn320m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
os.environ.setdefault("SPARK_SUBMIT_OPTS", " ".join(_JVM_OPTIONS))
# The JVM that puts the command of the other one together.
os.environ.setdefault("SPARK_LAUNCHER_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


@pytest.fixture(scope="session")
def shared_shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedShells]:
    """The shells of this test process that several modules use."""
    with SharedShells(tmp_path_factory.mktemp("shells")) as running:
        yield running


@pytest.fixture(scope="module")
def shell(request: pytest.FixtureRequest, shared_shells: SharedShells) -> Iterator[StockShell]:
    """A stock `spark-sql` as `table-store setup` leaves it, without flags."""
    with shared_shells.lent(request.path.stem) as lent:
        yield lent


@pytest.fixture
def no_jobs(request: pytest.FixtureRequest) -> Iterator[None]:
    """Behind a test the jobs end that it has left in the module's `spark`, if it uses that."""
    yield
    if "spark" in request.fixturenames:
        stop_jobs(request.getfixturevalue("spark"))
