"""The examples of the documents: fenced blocks of SQL and Python, and what each must print.

A block of `text` behind another one is what that prints. All blocks of a page are run, in their
order. What names the brokers `host:9092` is run with a broker, and so is all of its page; some
pages are run with a database, and one is the script of a demo. The folder `/data/exchange` is one
of the test.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.checkout import REPOSITORY

PAGES = (
    REPOSITORY / "README.md",
    *sorted(path for path in (REPOSITORY / "docs").glob("*.md")),
)
_BLOCK = re.compile(
    r"^```(?P<language>sql|python)\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
_BROKERS = "host:9092"
_FOLDER = "/data/exchange"
_OF_A_DATABASE = ("mysql-cdc", "postgres-cdc", "warehouse")
_STATEMENT_END = re.compile(r";[ \t]*(?:--[^\n]*)?(?:\n|$)")


@dataclass(frozen=True, slots=True)
class Example:
    """One block of a page; `printed` are the words of each line that it must print."""

    page: str
    line: int
    language: str
    code: str
    printed: tuple[tuple[str, ...], ...]

    @property
    def needs_brokers(self) -> bool:
        """Whether it names Kafka's brokers, as all later blocks of its page may."""
        return _BROKERS in self.code

    @property
    def needs_database(self) -> bool:
        """Whether it reads or writes a database."""
        return self.page in _OF_A_DATABASE

    @property
    def needs_spark(self) -> bool:
        """Whether a Python block uses the session `spark`."""
        return re.search(r"\bspark\b", self.code) is not None

    def statements(self) -> tuple[str, ...]:
        """The SQL statements of a block, without semicolons."""
        return tuple(s.strip() for s in _STATEMENT_END.split(self.code) if s.strip())

    def with_brokers(self, bootstrap: str) -> Example:
        """The same with brokers that there are."""
        return self.with_text(_BROKERS, bootstrap)

    def with_folder(self, folder: str) -> Example:
        """The same with a folder that there is."""
        return self.with_text(_FOLDER, folder)

    def with_text(self, old: str, new: str) -> Example:
        """The same with another text in the place of one."""
        return replace(self, code=self.code.replace(old, new))


def examples(language: str) -> tuple[Example, ...]:
    """Return the blocks of a language, page by page."""
    return tuple(example for example in _all_examples() if example.language == language)


def words(lines: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of each line that is not empty."""
    return tuple(tuple(line.split()) for line in lines.splitlines() if line.strip())


def _all_examples() -> Iterator[Example]:
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        for block in _BLOCK.finditer(text):
            yield Example(
                page=path.stem.lower(),
                line=text.count("\n", 0, block.start()) + 1,
                language=block["language"],
                code=block["code"],
                printed=words(block["printed"] or ""),
            )
