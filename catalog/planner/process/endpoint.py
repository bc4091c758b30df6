"""The object that the JVM calls: finds the function of a request, and turns errors into answers."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Mapping
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from table_store.catalog.errors import InternalError
from table_store.catalog.planner.process.handler import Handler
from table_store.catalog.planner.process.session import PlannerSession
from table_store.catalog.planner.process.worker_process import WORKER_ENVIRONMENT
from table_store.catalog.planner.protocol.failure import Failure
from table_store.catalog.planner.protocol.json_form import to_json
from table_store.storage.kernel.counter import counted
from table_store.storage.kernel.errors import TableStoreError

_SESSIONS_MAX = 256
_log = logging.getLogger(__name__)


class PlannerEndpoint:
    """Implements the JVM's `Planner`: one request is one function.

    It converts JSON to the values of `protocol`, and back. Requests of different sessions arrive on
    different threads; handlers share no mutable state.
    """

    class Java:
        """py4j reads from this class which Java interface the object implements."""

        implements = ["org.apache.spark.sql.tablestore.Planner"]  # noqa: RUF012 - py4j's form

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        self._handlers = handlers
        self._gateway: ClientServer | None = None
        self._log = "its standard error"
        self._context: SparkContext | None = None
        self._sessions: dict[str, PlannerSession] = {}
        self._lock = threading.Lock()

    def bind(self, gateway: ClientServer, log: str) -> None:
        """Set the connection back to the JVM, once, before the first call.

        `log` is the file that standard error goes to; internal errors name it.
        """
        self._gateway = gateway
        self._log = log

    def attach(self, java_context: Any) -> None:
        """Attach to the JVM's Spark context."""
        SparkContext._gateway = self._gateway
        SparkContext._jvm = self._gateway.jvm if self._gateway else None
        self._context = SparkContext(
            gateway=self._gateway,
            jsc=java_context,
            conf=SparkConf(_jconf=java_context.getConf()),
        )
        self._context.environment.update(WORKER_ENVIRONMENT)
        self._keep_default_session(self._context)

    def counts(self) -> str:
        """What this process has counted, as JSON."""
        return json.dumps(counted())

    def _keep_default_session(self, context: SparkContext) -> None:
        """Attach to the JVM's default session before any other session.

        PySpark makes the first session that it attaches to the JVM's default session. If that were
        a client's session, JVM threads without a session, which serve all clients, would use this
        client's settings.
        """
        sessions = SparkSession._get_j_spark_session_module(context._jvm)
        default, active = sessions.getDefaultSession(), sessions.getActiveSession()
        if default.isDefined() and not default.get().sparkContext().isStopped():
            SparkSession(context, jsparkSession=default.get())
            if active.isDefined():
                sessions.setActiveSession(active.get())

    def handle(
        self, java_session: Any, session_id: str, request: str, argument: str, data: Any, reply: Any
    ) -> str:
        """The answer as JSON: {"value": …}, or {"error": …} for a `TableStoreError`.

        An exception that the JVM raised is passed back to it unchanged, through `reply`.
        """
        try:
            session = self._session(session_id, java_session)
            value = self._handlers[request].answer(session, json.loads(argument), data)
            return json.dumps({"value": value})
        except TableStoreError as error:
            return _error(Failure.of(error))
        except CapturedException as error:
            if error._origin is None:
                return self._internal_error(error, request)
            reply.rethrow(error._origin)
        except Py4JJavaError as error:
            reply.rethrow(error.java_exception)
        except Exception as error:  # noqa: BLE001 - the process edge: the JVM must get an answer
            return self._internal_error(error, request)
        return "{}"

    def _internal_error(self, error: Exception, request: str) -> str:
        _log.exception("request %s failed", request)
        return _error(Failure.of(InternalError(error=error, request=request, log=self._log)))

    def _session(self, session_id: str, java_session: Any) -> PlannerSession:
        with self._lock:
            known = self._sessions.pop(session_id, None)
            if known is None:
                known = PlannerSession(session_id, lambda: self._attached(java_session))
                while len(self._sessions) >= _SESSIONS_MAX:
                    self._sessions.pop(next(iter(self._sessions)))
            self._sessions[session_id] = known
            return known

    def _attached(self, java_session: Any) -> SparkSession:
        assert self._context is not None, "attach() comes before the first request"
        return SparkSession(self._context, jsparkSession=java_session)


def _error(failure: Failure) -> str:
    return json.dumps({"error": to_json(failure)})
