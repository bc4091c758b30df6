"""One Spark session as the planner sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from py4j.java_gateway import JavaMember
from py4j.protocol import STATIC_PREFIX
from pyspark.sql import SparkSession

from table_store.catalog.names.identifier import DEFAULT_NAMESPACE

_PACKAGE: Final = "org.apache.spark.sql.tablestore"


@dataclass(frozen=True, slots=True)
class Bridge:
    """Names the bridge's objects and their methods without asking the JVM for each name.

    `spark._jvm` asks it for each part of a package, for the class and for the method.
    """

    client: Any

    def __getattr__(self, name: str) -> _Methods:
        return _Methods(self.client, f"{STATIC_PREFIX}{_PACKAGE}.{name}")


@dataclass(frozen=True, slots=True)
class _Methods:
    client: Any
    target: str

    def __getattr__(self, name: str) -> JavaMember:
        return JavaMember(name, None, self.target, self.client)


class PlannerSession:
    """A Spark session of the JVM, attached only when a request needs it.

    Attaching costs several calls to the JVM, and most requests (load a table, plan a scan)
    touch storage alone.
    """

    def __init__(self, session_id: str, attach: Callable[[], SparkSession]) -> None:
        self.id = session_id
        self._attach = attach
        self._spark: SparkSession | None = None

    @property
    def spark(self) -> SparkSession:
        """The session; calls to it run on the JVM thread that sent the request."""
        if self._spark is None:
            self._spark = self._attach()
        return self._spark

    @property
    def jvm(self) -> Any:
        """The names of the JVM's classes; each part of one costs a call, so `bridge` is quicker."""
        return self.spark._jvm

    @property
    def bridge(self) -> Bridge:
        """The bridge's objects in the JVM."""
        gateway = self.spark.sparkContext._gateway
        assert gateway is not None, "the planner is attached to a JVM"
        return Bridge(gateway._gateway_client)

    def conf(self, key: str) -> str | None:
        """The session's value of `key`, or None when it is not set."""
        value = self.bridge.SessionSettings.value(self.spark._jsparkSession, key)
        return None if value is None else str(value)

    def application_conf(self, key: str) -> str | None:
        """The value of `key` with which the application was started; no session can change it."""
        value = self.spark._jsparkSession.sparkContext().conf().getOption(key)
        return str(value.get()) if value.isDefined() else None

    def catalog(self, name: str) -> dict[str, Any] | None:
        """A catalog of ours as a `CatalogReference` in JSON; None if there is none of this name."""
        found = self.bridge.SessionSettings.catalog(self.spark._jsparkSession, name)
        return None if found is None else dict(json.loads(found))

    def confs(self, prefix: str) -> dict[str, str]:
        """Every key of the session that starts with `prefix`, with its value."""
        found = self.bridge.SessionSettings.starting(self.spark._jsparkSession, prefix)
        return dict(json.loads(found))

    def set_conf(self, key: str, value: str | None) -> None:
        """Set a key of the session; None resets it to its default."""
        conf = self.spark._jsparkSession.conf()
        if value is None:
            conf.unset(key)
        else:
            conf.set(key, value)

    def forget_catalog(self, name: str) -> None:
        """Let the session make a catalog anew, if it is ever named again."""
        self.bridge.SessionSettings.forgetCatalog(self.spark._jsparkSession, name)

    def recache(self, parts: Sequence[str]) -> None:
        """Let cached plans over a table, whose full name is `parts`, read the rows it has now."""
        self.bridge.SessionSettings.recache(self.spark._jsparkSession, list(parts))

    def has_temporary_view(self, name: str) -> bool:
        """Whether a temporary view of the session has this name."""
        catalog = self.spark._jsparkSession.sessionState().catalog()
        return bool(catalog.getTempView(name).isDefined())

    def current(self) -> tuple[str, list[str]]:
        """(current catalog, current namespace)."""
        found = self.bridge.SessionSettings.current(self.spark._jsparkSession)
        catalog, *namespace = json.loads(found)
        return catalog, namespace

    def namespace_in(self, catalog: str) -> str:
        """The current namespace while `catalog` is the current one, else the default namespace."""
        current, namespace = self.current()
        return namespace[0] if current == catalog and namespace else DEFAULT_NAMESPACE
