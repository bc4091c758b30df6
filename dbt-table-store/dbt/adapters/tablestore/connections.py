"""Connections to the Thrift server that `table-store thriftserver` starts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from dbt.adapters.spark.connections import (
    SparkConnectionManager,
    SparkConnectionMethod,
    SparkCredentials,
)
from dbt_common.exceptions import DbtRuntimeError

_STACK = re.compile(r"\n\s*\tat ")


@dataclass
class TableStoreCredentials(SparkCredentials):
    """A target of `profiles.yml`: dbt-spark's, with other defaults.

    `poll_interval`: seconds between two looks whether a statement has ended. `query_retries`: a
    connection that is lost does not say whether its statement was carried out, so that repeating
    it may append rows twice; hence never, unless the profile says so.
    """

    method: SparkConnectionMethod = SparkConnectionMethod.THRIFT
    user: str | None = "dbt"
    port: int = 10000
    poll_interval: float = 0.1  # type: ignore[assignment] # time.sleep takes parts of seconds
    query_retries: int = 0

    @property
    def type(self) -> str:
        """The name of the adapter."""
        return "tablestore"

    @property
    def unique_field(self) -> str:
        """What tells one server from another."""
        return str(self.host)

    def _connection_keys(self) -> tuple[str, ...]:
        return ("method", "host", "port", "user", "schema")


class TableStoreConnectionManager(SparkConnectionManager):
    """dbt-spark's connections under our name."""

    TYPE = "tablestore"

    @contextmanager
    def exception_handler(self, sql: str) -> Iterator[None]:
        """Let errors pass as dbt's own, with the server's message and without its stack."""
        try:
            with super().exception_handler(sql):
                yield
        except DbtRuntimeError as error:
            error.msg = _STACK.split(str(error.msg), maxsplit=1)[0]
            raise
