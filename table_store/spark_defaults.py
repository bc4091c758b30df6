"""Our part of a spark-defaults.conf, a marked block at its end; pure functions on texts.

Spark reads the file as Java properties, where the last line of a key counts, so a block at the end
needs no change of a user's lines.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_BEGIN = "# >>> spark-table-store (written by `table-store setup`, removed by --undo) >>>"
_END = "# <<< spark-table-store <<<"
_BLOCK = re.compile(rf"\n?^{re.escape(_BEGIN)}$.*?^{re.escape(_END)}$\n?", re.MULTILINE | re.DOTALL)
_EXTENSIONS = "spark.sql.extensions"
_USERS_COUNT = (
    "spark.sql.sources.default",
    "spark.redaction.regex",
    "spark.sql.redaction.string.regex",
)


def properties(text: str) -> Mapping[str, str]:
    """Return the settings of a spark-defaults.conf, the last of each key."""
    found = {}
    for line in text.splitlines():
        setting = re.match(r"\s*([^\s#!=:][^\s=:]*)\s*[=:\s]\s*(.*?)\s*$", line)
        if setting:
            found[setting[1]] = setting[2]
    return found


def without_block(text: str) -> str:
    """Return the file without our block."""
    return _BLOCK.sub("", text)


def with_block(text: str, ours: str) -> str:
    """Return the file with `ours` as its block, in place of an older one.

    Extensions that the user's lines name stay, after ours. A default format and patterns of
    secrets in the user's lines win over ours.
    """
    users = without_block(text)
    named = properties(users)
    theirs = named.get(_EXTENSIONS, "").split(",")
    own = properties(ours).get(_EXTENSIONS, "").split(",")
    merged = ",".join(dict.fromkeys(e.strip() for e in (*own, *theirs) if e.strip()))
    body = re.sub(
        rf"^({re.escape(_EXTENSIONS)}\s+).*$",
        lambda found: found[1] + merged,
        ours.strip(),
        flags=re.MULTILINE,
    )
    for key in _USERS_COUNT:
        if key in named:
            body = re.sub(rf"^{re.escape(key)}\s.*\n?", "", body, flags=re.MULTILINE)
    between = "\n" if users else ""  # exactly one, so that `without_block` returns every byte
    return f"{users}{between}{_BEGIN}\n{body}\n{_END}\n"


def overlaid(base: str, addition: str) -> str:
    """Return `base` with each setting of `addition` added, or in place of one with its key."""
    values = dict(properties(addition))
    lines = []
    for line in base.splitlines():
        key = next(iter(properties(line)), None)
        lines.append(f"{key:<41} {values.pop(key)}" if key in values else line)
    lines += [f"{key:<41} {value}" for key, value in values.items()]
    return "\n".join(lines) + "\n"
