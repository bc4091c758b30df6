"""Which options hold secrets, and what is shown in their place: the one rule, for all that prints.

What Spark prints follows the same words: `conf/spark-defaults.conf` has both patterns for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REDACTED: Final = "*********(redacted)"
"""Spark's own words."""

SECRET_WORDS: Final = (
    "secret|passwd|password|token|credential|api[-_.]?key|access[-_.]?key|private[-_.]?key|jaas"
    "|proxy[-_.]?url|socks5"
)
"""An option whose name has one of them holds a secret; a proxy's address may."""

_QUOTED: Final = r"""'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+["]"""
_NAME: Final = rf"""[\w.-]*?(?:{SECRET_WORDS})[\w.-]*+['"`]?\s*+"""
# Most words are no key: whether a value follows is looked at first, which is cheap.
_IS_KEY: Final = r"""(?=[\w.-]++['"`]?\s*+(?:=|->{}))"""
SECRET_TEXT: Final = (
    r"(?is)(?<![\w.-])(?:"
    rf"{_IS_KEY.format('|,')}[\w.-]*?log\.kafka\.{_NAME}(?:=|->|,)\s*+(?:{_QUOTED}|[^\n]*+)"
    rf"|{_IS_KEY.format('')}{_NAME}(?:=|->)\s*+(?:{_QUOTED}))"
)
"""A secret with its key, in the text of a statement or a plan.

To Spark it is `spark.sql.redaction.string.regex`: Java reads it as Python does.
"""

_IN_NAME: Final = re.compile(SECRET_WORDS, re.IGNORECASE)
# An assignment inside of a value, or the user and password of a URL.
_IN_VALUE: Final = re.compile(
    rf"(?:{SECRET_WORDS})[\w.-]*[\"']?\s*[=:]|://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"\$\{secret:(env|file):([^{}]+)\}")
_NOT_IN_VARIABLES: Final = re.compile(r"[^A-Z0-9]+")


def is_secret(key: str, value: str = "") -> bool:
    """Whether a value is for nobody's eyes, by its option's name or by what it has inside."""
    return reference(value) is None and bool(_IN_NAME.search(key) or _IN_VALUE.search(value))


def holds_secret(options: Mapping[str, str]) -> bool:
    """Whether a file with these options is for its owner's eyes alone."""
    return any(is_secret(key, value) for key, value in options.items())


def shown_value(key: str, value: str | None) -> str | None:
    """Return an option's value as it may be shown to anyone: secrets are not."""
    return REDACTED if value is not None and is_secret(key, value) else value


def reference(value: str) -> tuple[str, str] | None:
    """Return where a secret is that is not in the value itself: ("env", name), ("file", path).

    Written `${secret:env:NAME}` or `${secret:file:/path}`. Not `${env:NAME}`, which Spark's shell
    replaces by the secret before anybody else reads the statement.
    """
    found = _REFERENCE.fullmatch(value)
    return None if found is None else (found[1], found[2])


def asked_for(key: str) -> str:
    """Return what stands for an option's secret in a statement that is to be run again.

    It names an environment variable, and is refused where that is not set.
    """
    return f"${{secret:env:TABLE_STORE_{_NOT_IN_VARIABLES.sub('_', key.upper())}}}"
