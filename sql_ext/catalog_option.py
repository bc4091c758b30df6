"""The options of CREATE CATALOG, and which values they take."""

from __future__ import annotations

import difflib
import urllib.parse
from collections.abc import Callable, Mapping
from typing import Final

from table_store.catalog.meta_service.consistency import Consistency
from table_store.catalog.planner.jobs.hosted_jobs import Host
from table_store.catalog.planner.names.catalog_access import WAREHOUSE
from table_store.storage.kernel.errors import InvalidOptionError, UnknownOptionError

_TYPES: Final = ("table-store", "table_store")


def check_catalog_option(key: str, value: str) -> None:
    """Check an option.

    Raises:
        UnknownOptionError: there is none of this name.
        InvalidOptionError: it does not take the value.
    """
    if key not in _CHECKS:
        close = difflib.get_close_matches(key, _CHECKS, n=1)
        raise UnknownOptionError(key=key, nearest=close[0] if close else None)
    _CHECKS[key](value, key=key)


def _check_type(value: str, *, key: str) -> None:
    if value.lower() not in _TYPES:
        reason = f"use {' or '.join(map(repr, _TYPES))}"
        raise InvalidOptionError(key=key, value=value, reason=reason)


def _check_warehouse(value: str, *, key: str) -> None:
    if not (value.startswith("/") or ":/" in value):
        reason = "use an absolute path, or a URI: each program has another current folder"
        raise InvalidOptionError(key=key, value=value, reason=reason)


def _check_uri(value: str, *, key: str) -> None:
    parts = urllib.parse.urlsplit(value)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        reason = "use the address of a MetaService, such as 'http://localhost:8188'"
        raise InvalidOptionError(key=key, value=value, reason=reason)


_CHECKS: Final[Mapping[str, Callable[..., object]]] = {
    "type": _check_type,
    WAREHOUSE: _check_warehouse,
    "metastore": _check_type,
    "uri": _check_uri,
    "consistency": Consistency.of,
    "consistency-type": Consistency.of,
    "jobs": Host.of,
}
