"""Forwards messages that users should see to the log of Spark's JVM."""

from __future__ import annotations

import logging
from typing import Any, Final

JVM_LOGGER: Final = "org.apache.spark.sql.tablestore.TableStore"
"""The logger's name in the configuration of Spark's log."""


class JvmLog(logging.Handler):
    """Repeats the messages of a Python logger as warnings in the JVM's log, without tracebacks."""

    def __init__(self, jvm: Any) -> None:
        super().__init__(logging.WARNING)
        self._log = jvm.org.slf4j.LoggerFactory.getLogger(JVM_LOGGER)

    def emit(self, record: logging.LogRecord) -> None:
        """See `logging.Handler`."""
        try:
            self._log.warn(record.getMessage())
        except Exception:  # noqa: BLE001 - the JVM may be about to end
            self.handleError(record)
