"""What `table-store setup` changes in a Spark installation, and how that is undone."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from table_store import spark_defaults
from table_store.spark_home import SparkHome

DEFAULTS_NAME = "spark-defaults.conf"
LOG4J_NAME = "log4j2.properties"
_RECEIPT_NAME = "table-store-setup.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One file to write (`content`), to copy (`source`), or, with neither, to remove.

    `is_others` says that there is a file which this set-up did not make.
    """

    path: Path
    content: str | None = None
    source: Path | None = None
    is_others: bool = False

    @property
    def summary(self) -> str:
        """One line for people."""
        if self.content is None and self.source is None:
            return f"remove {self.path}"
        return f"{'change' if self.path.exists() else 'create'} {self.path}"

    def apply(self) -> None:
        """Change the file; at any moment it is the old or the new one."""
        if self.content is None and self.source is None:
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        if self.content is not None:
            partial.write_text(self.content, encoding="utf-8")
        elif self.source is not None:
            shutil.copyfile(self.source, partial)
        partial.replace(self.path)


def plan_setup(
    home: SparkHome, *, jars: Iterable[Path], defaults: str, log4j: str
) -> tuple[Change, ...]:
    """Return the changes after which Spark finds all it needs; empty if it already does.

    Args:
        home: The installation.
        jars: To be copied into its jars folder.
        defaults: The settings, as text of a spark-defaults.conf.
        log4j: Text of the logging configuration; written only where there is none.
    """
    made = _made_before(home)
    changes = [
        Change(path=home.jars / jar.name, source=jar, is_others=_is_others(home, jar.name, made))
        for jar in jars
        if not _same(jar, home.jars / jar.name)
    ]
    path = home.conf / DEFAULTS_NAME
    old = path.read_bytes().decode() if path.exists() else None  # with a user's \r\n as it is
    new = spark_defaults.with_block(old or "", defaults)
    if new != old:
        others = bool(old) and spark_defaults.without_block(old or "") != ""
        changes.append(Change(path=path, content=new, is_others=others))
    logging = home.conf / LOG4J_NAME
    if not logging.exists() or (
        str(logging) in made and logging.read_text(encoding="utf-8") != log4j
    ):
        changes.append(Change(path=logging, content=log4j))
    if not changes:
        return ()
    added = {str(c.path) for c in changes if c.path.name != DEFAULTS_NAME and not c.is_others}
    receipt = {"version": 1, "files": sorted(made | added)}
    if made | added != made:
        content = json.dumps(receipt, indent=2) + "\n"
        changes.append(Change(path=home.conf / _RECEIPT_NAME, content=content))
    return tuple(changes)


def plan_undo(home: SparkHome) -> tuple[Change, ...]:
    """Return the changes that remove a set-up completely; empty if there is none."""
    changes = [Change(path=Path(p)) for p in sorted(_made_before(home)) if Path(p).exists()]
    path = home.conf / DEFAULTS_NAME
    if path.exists():
        old = path.read_bytes().decode()
        rest = spark_defaults.without_block(old)
        if rest != old:
            changes.append(Change(path=path, content=rest if rest.strip() else None))
    receipt = home.conf / _RECEIPT_NAME
    if receipt.exists():
        changes.append(Change(path=receipt))
    return tuple(changes)


def _made_before(home: SparkHome) -> set[str]:
    """Return the files of an earlier set-up, as far as they lie in the installation's folders."""
    try:
        receipt = json.loads((home.conf / _RECEIPT_NAME).read_text(encoding="utf-8"))
        files = list(receipt["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {str(f) for f in files if Path(str(f)).parent in (home.jars, home.conf)}


def _is_others(home: SparkHome, name: str, made: set[str]) -> bool:
    path = home.jars / name
    return path.exists() and str(path) not in made


def _same(a: Path, b: Path) -> bool:
    return b.exists() and a.stat().st_size == b.stat().st_size and _digest(a) == _digest(b)


def _digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
