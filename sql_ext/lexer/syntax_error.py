"""The error of a statement that is ours but not well formed."""

from __future__ import annotations

from table_store.storage.kernel.errors import TableStoreError

_FOUND_LENGTH_MAX = 60


class StatementSyntaxError(TableStoreError):
    """A statement has a clause that only the table store knows, and in it a mistake.

    `line` counts from 1 and `column` from 0, both in characters, as Spark's parser counts them.
    `found` is the offending text, None at the end of the statement. `problem` says what was
    expected there instead, or what is wrong with it.
    """

    condition = "TABLE_STORE_SYNTAX_ERROR"
    sql_state = "42601"

    def __init__(self, *, sql: str, offset: int, found: str | None, problem: str) -> None:
        line_start = sql.rfind("\n", 0, offset) + 1
        self.sql = sql
        self.line = sql.count("\n", 0, offset) + 1
        self.column = offset - line_start
        self.found = found
        self.problem = problem
        where = "end of input" if found is None else f"'{_shortened(found)}'"
        super().__init__(
            f"Syntax error at or near {where} (line {self.line}, pos {self.column}): {problem}."
        )

    def context(self) -> str:
        """Return the statement with a pointer under the place, in the same form as Spark."""
        lines = self.sql.split("\n")
        pointer = "-" * self.column + "^^^"
        marked = [*lines[: self.line], pointer, *lines[self.line :]]
        return "\n== SQL ==\n" + "\n".join(marked)


def _shortened(text: str) -> str:
    if len(text) <= _FOUND_LENGTH_MAX:
        return text
    return text[:_FOUND_LENGTH_MAX] + "…"
