"""The one rule for all that is printed: which options hold secrets, and what is shown instead.

Spark hides secrets by the same words: `conf/spark-defaults.conf` gives it both patterns.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

REDACTED: Final = "*********(redacted)"
"""What is shown in place of a secret, as Spark itself writes it."""

SECRET_WORDS: Final = (
    "secret|passwd|password|token|credential(?!s-source)|api[-_.]?key|access[-_.]?key"
    "|private[-_.]?key|jaas|proxy[-_.]?url|socks5|user[-_.]?info"
)
"""An option holds a secret if its name has one of these; a proxy's address may hold one."""

_QUOTED: Final = r"""'(?:[^'\\]++|\\.|'')*+'|"(?:[^"\\]++|\\.|"")*+["]"""
_NAME: Final = rf"""[\w.-]*?(?:{SECRET_WORDS})[\w.-]*+['"`]?\s*+"""
# Most words are no key, so it is first checked whether a value follows, which is cheap.
_IS_KEY: Final = r"""(?=[\w.-]++['"`]?\s*+(?:=|->{}))"""
SECRET_TEXT: Final = (
    r"(?is)(?<![\w.-])(?:"
    rf"{_IS_KEY.format('|,')}[\w.-]*?log\.kafka\.{_NAME}(?:=|->|,)\s*+(?:{_QUOTED}|[^\n]*+)"
    rf"|{_IS_KEY.format('')}{_NAME}(?:=|->)\s*+(?:{_QUOTED}))"
    r"""|(?<=://)[^/@\s:'"]*+:[^/@\s'"]++@"""
)
"""A secret with its key, or the user and password of a URL, in a statement's or a plan's text.

Spark gets it as `spark.sql.redaction.string.regex`; Java reads it as Python does.
"""

_IN_NAME: Final = re.compile(SECRET_WORDS, re.IGNORECASE)
# Matches an assignment inside of a value, and the user and password of a URL.
_IN_VALUE: Final = re.compile(
    rf"(?:{SECRET_WORDS})[\w.-]*[\"']?\s*[=:]|://[^/@\s:]*:[^/@\s]+@", re.IGNORECASE
)
_REFERENCE: Final = re.compile(r"\$\{secret:(env|file):([^{}]+)\}")
_NOT_IN_VARIABLES: Final = re.compile(r"[^A-Z0-9]+")


def is_secret(key: str, value: str = "") -> bool:
    """Whether a value must not be shown, by its option's name or by its own text."""
    return reference(value) is None and bool(_IN_NAME.search(key) or _IN_VALUE.search(value))


def holds_secret(options: Mapping[str, str]) -> bool:
    """Whether only its owner may read a file with these options."""
    return any(is_secret(key, value) for key, value in options.items())


def shown_value(key: str, value: str | None) -> str | None:
    """Return an option's value as anyone may see it: in place of a secret stands `REDACTED`."""
    return REDACTED if value is not None and is_secret(key, value) else value


def reference(value: str) -> tuple[str, str] | None:
    """Return where the secret is that a value names: ("env", name), ("file", path), or None.

    Such a value is written `${secret:env:NAME}` or `${secret:file:/path}`. It is not `${env:NAME}`,
    because Spark's shell replaces that by the secret before anybody else reads the statement.
    """
    found = _REFERENCE.fullmatch(value)
    return None if found is None else (found[1], found[2])


def asked_for(key: str) -> str:
    """Return what stands for an option's secret in a statement that is to be run again.

    It names an environment variable; whoever runs the statement without setting it is refused.
    """
    return f"${{secret:env:TABLE_STORE_{_NOT_IN_VARIABLES.sub('_', key.upper())}}}"
