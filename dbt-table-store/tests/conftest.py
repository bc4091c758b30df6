"""dbt's profile for the Thrift server of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

pytest_plugins = ["dbt.tests.fixtures.project", "thrift_fixture"]

# Each run of dbt would else try to report itself to its makers.
os.environ["DBT_SEND_ANONYMOUS_USAGE_STATS"] = "false"


@pytest.fixture(scope="class")
def dbt_profile_target(server: tuple[str, int]) -> dict[str, object]:
    """A target of `profiles.yml`; dbt's fixtures add the schema, one for each class."""
    host, port = server
    return {"type": "tablestore", "host": host, "port": port, "threads": 2}


@pytest.fixture(scope="class")
def logs_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where dbt logs: beside the project, and not in the checkout as dbt's own fixture has it."""
    folder = str(tmp_path_factory.mktemp("logs"))
    os.environ["DBT_LOG_PATH"] = folder
    yield folder
    del os.environ["DBT_LOG_PATH"]
