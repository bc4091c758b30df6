"""Reads the secret that an option names, in the process that uses it: no table's file has it."""

from __future__ import annotations

import os
from pathlib import Path

from table_store.storage.kernel.errors import InvalidOptionError
from table_store.storage.kernel.secrets import reference


def resolved(key: str, value: str) -> str:
    """Return what an option's value stands for: itself, a variable's value, or a file's text.

    A line break at the end of the file is not part of the secret.

    Raises:
        InvalidOptionError: there is no such variable or file, or it is empty.
    """
    found = reference(value)
    if found is None:
        if value.startswith("${"):
            forms = "${secret:env:NAME} or ${secret:file:/path}"
            raise InvalidOptionError(key=key, value=None, reason=f"a secret is named by {forms}")
        return value
    kind, name = found
    secret = _variable(key, name) if kind == "env" else _text(key, name)
    if not secret:
        raise InvalidOptionError(key=key, value=value, reason="what it names is empty")
    return secret


def _variable(key: str, name: str) -> str:
    secret = os.environ.get(name)
    if secret is None:
        reason = (
            f"the environment variable {name} is not set. Set it for the processes that use it: "
            "this one, Spark's driver, and its executors for what they read or write"
        )
        raise InvalidOptionError(key=key, value=None, reason=reason)
    return secret


def _text(key: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = f"the file {path!r} cannot be read ({type(error).__name__})"
        raise InvalidOptionError(key=key, value=None, reason=reason) from None
