"""Rewrites `t /*+ OPTIONS('k' = 'v') */` to Spark's `t WITH ('k' = 'v')`."""

from __future__ import annotations

from dataclasses import dataclass, field

from table_store.sql_ext.hints.option_hint import HintedTokens, OptionHint, separate_hints
from table_store.sql_ext.hints.relation import Relation, read_insert_target, read_relation
from table_store.sql_ext.lexer.sql_token import Token, TokenKind, tokenize
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError
from table_store.sql_ext.lexer.value_expression import group_end

_QUERY_STARTS = frozenset({"SELECT", "WITH", "VALUES", "FROM", "TABLE", "MAP", "REDUCE"})
_CLOSES_FROM = frozenset(
    {"SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "SET", "WINDOW", "UNION", "WHEN"}
)
_NOT_BEFORE_TABLE_QUERY = frozenset(
    """
    CREATE TEMPORARY TEMP EXTERNAL REPLACE STREAMING ALTER DROP DESC DESCRIBE TRUNCATE ANALYZE
    REFRESH CACHE LAZY UNCACHE INTO OVERWRITE SHOW REPAIR LOCK COMMENT ON OPTIMIZE
    """.split()  # noqa: SIM905 - a list of words reads better as prose
)
_ONLY_QUERIES_AND_INSERT = "only a table that is read, or the target of INSERT, takes options"


def rewrite_option_hints(sql: str) -> str:
    """Return the statement with its hints as WITH clauses; `sql` itself if it has none.

    A hint may stand behind the name it belongs to, behind its time travel, sample or alias, and
    in INSERT also before the name. Everything else stays byte for byte. In two places Spark takes
    no WITH, so the table becomes a query there: the source of MERGE, and `TABLE t`.

    Raises:
        StatementSyntaxError: a hint is malformed or belongs to no table.
    """
    if "/*+" not in sql:
        return sql
    hinted = separate_hints(sql, tuple(tokenize(sql)))
    if not hinted.hints_before:
        return sql
    return _Rewriter(hinted).run()


@dataclass(slots=True)
class _Rewriter:
    """One pass over the tokens; at each depth of brackets it knows if a table follows a comma."""

    hinted: HintedTokens
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    done: set[int] = field(default_factory=set)
    from_open: list[bool] = field(default_factory=lambda: [False])
    in_merge: bool = False

    def run(self) -> str:
        index = 0
        while self._token(index).kind is not TokenKind.END:
            index = self._step(index)
        self._refuse_homeless()
        sql = self.hinted.sql
        for start, end, text in sorted(self.edits, reverse=True):
            sql = sql[:start] + text + sql[end:]
        return sql

    def _token(self, index: int) -> Token:
        return self.hinted.tokens[min(index, len(self.hinted.tokens) - 1)]

    def _step(self, index: int) -> int:
        """Handle the token at `index`; return the index of the next token to handle."""
        token = self._token(index)
        before = self._token(index - 1).keyword if index else ""
        match token.keyword or token.text:
            case "(":
                self.from_open.append(False)
            case ")":
                if len(self.from_open) > 1:
                    self.from_open.pop()
            case "MERGE" if self._is_merge(index):
                self.in_merge = True
            case "FROM" if before == "DELETE" and self._starts_statement(index - 1):
                return self._no_options(index + 1)
            case "UPDATE" if self._starts_statement(index):
                return self._no_options(index + 1)
            case "INTO" | "OVERWRITE" if before in ("INSERT", "EVOLUTION", "MERGE"):
                return self._written(index + 1)
            case "FROM" | "JOIN":
                self.from_open[-1] = True
                return self._read(index + 1)
            case "," if self.from_open[-1]:
                return self._read(index + 1)
            case "USING" if self.in_merge and len(self.from_open) == 1:
                self.in_merge = False
                return self._merge_source(index + 1)
            case "TABLE" if before not in _NOT_BEFORE_TABLE_QUERY:
                return self._table_query(index)
            case word if word in _CLOSES_FROM:
                self.from_open[-1] = False
        return index + 1

    def _is_merge(self, index: int) -> bool:
        return self._token(index + 1).keyword in ("INTO", "WITH")

    def _starts_statement(self, index: int) -> bool:
        """Whether the word at `index` is a verb; UPDATE and DELETE may also name a column."""
        if index == 0:
            return True
        before = self._token(index - 1)
        if before.is_symbol(")"):
            return self._token(0).keyword == "WITH" or self._token(1).keyword == "WITH"
        return before.is_symbol(";") or before.keyword in _BEFORE_STATEMENT

    # -- places where a table is named -------------------------------------------------------------

    def _read(self, index: int) -> int:
        index, is_query = self._enter(index)
        relation = None if is_query else read_relation(self.hinted.tokens, index)
        if relation is None:
            return index
        self._add_options(relation, self._take(index + 1, relation.end))
        return relation.name_end

    def _enter(self, index: int) -> tuple[int, bool]:
        """Return the index behind LATERAL, STREAM and `(`, and whether a query begins there."""
        while True:
            token, following = self._token(index), self._token(index + 1)
            if token.is_symbol("("):
                is_query = following.keyword in _QUERY_STARTS
                self.from_open.append(not is_query)
                if is_query:
                    return index + 1, True
            elif not self._is_prefix(token, following):
                return index, False
            index += 1

    def _is_prefix(self, token: Token, following: Token) -> bool:
        """Whether LATERAL or STREAM is the keyword here, and not the name of a table."""
        names_follow = following.is_symbol("(") or following.kind in _NAME_KINDS
        return token.keyword in ("LATERAL", "STREAM") and names_follow

    def _written(self, index: int) -> int:
        if self.in_merge:
            return self._no_options(index)
        name = index
        following = self._token(index + 1)
        if (
            self._token(index).keyword == "TABLE"
            and following.kind in _NAME_KINDS
            and following.keyword not in _QUERY_STARTS
        ):
            name += 1
        relation = read_insert_target(self.hinted.tokens, name)
        if relation is None:
            return index
        self._add_options(relation, self._take(index, relation.end))
        return relation.name_end

    def _merge_source(self, index: int) -> int:
        relation = read_relation(self.hinted.tokens, index)
        if relation is None:
            return index
        hints = self._take(index, relation.end)
        if hints:
            first, last = self._token(index), self._token(relation.name_end - 1)
            self._insert(first.start, "(SELECT * FROM ")
            alias = "" if relation.alias_start is not None else f" AS {last.text}"
            self._insert(last.end, f" WITH ({_joined(hints)})){alias}")
            self._remove(hints)
        return relation.end

    def _table_query(self, index: int) -> int:
        relation = read_relation(self.hinted.tokens, index + 1)
        if relation is None:
            return index + 1
        hints = self._take(index + 2, relation.name_end)
        if not hints:
            return index + 1
        if self._is_function_argument(index):
            raise self._refusal(hints[0], "write the argument as TABLE (SELECT * FROM … WITH (…))")
        table = self._token(index)
        self.edits.append((table.start, table.end, "SELECT * FROM"))
        self._add_options(relation, hints)
        return relation.name_end

    def _is_function_argument(self, index: int) -> bool:
        before = self._token(index - 1) if index else None
        if before is None or not (before.is_symbol("(") and index > 1):
            return before is not None and (before.is_symbol(",") or before.is_symbol("=>"))
        caller = self._token(index - 2)
        return caller.kind in _NAME_KINDS and caller.keyword not in _BEFORE_SUBQUERY

    def _no_options(self, index: int) -> int:
        """Handle a table that is changed and not read, for which Spark takes no options."""
        relation = read_relation(self.hinted.tokens, index)
        if relation is None:
            return index
        hints = self._take(index, relation.end)
        if hints:
            raise self._refusal(hints[0], _ONLY_QUERIES_AND_INSERT)
        return relation.end

    # -- edits -------------------------------------------------------------------------------------

    def _take(self, first: int, last: int) -> tuple[OptionHint, ...]:
        """Return the hints in front of the tokens `first` to `last`, outside of parentheses."""
        hints: list[OptionHint] = []
        index = first
        while index <= last:
            if index in self.hinted.hints_before and index not in self.done:
                self.done.add(index)
                hints.extend(self.hinted.hints_before[index])
            is_group = self._token(index).is_symbol("(")
            index = group_end(self.hinted.tokens, index) if is_group else index + 1
        return tuple(hints)

    def _add_options(self, relation: Relation, hints: tuple[OptionHint, ...]) -> None:
        entries = _joined(hints)
        if not entries:
            self._remove(hints)
            return
        if relation.options_close is not None:
            self._insert(self._token(relation.options_close).start, f", {entries}")
            self._remove(hints)
            return
        in_place = self.hinted.hints_before.get(relation.options_at, ())
        clause = f"WITH ({entries})"
        if in_place:
            self._replace(in_place[0], clause)
            self._remove(tuple(hint for hint in hints if hint != in_place[0]))
        else:
            self._insert(self._token(relation.options_at - 1).end, f" {clause}")
            self._remove(hints)

    def _insert(self, at: int, text: str) -> None:
        self.edits.append((at, at, text))

    def _replace(self, hint: OptionHint, text: str) -> None:
        sql = self.hinted.sql
        left = "" if sql[hint.start - 1 : hint.start].isspace() else " "
        follows = sql[hint.end : hint.end + 1]
        right = "" if not follows or follows.isspace() or follows in ",;)" else " "
        self.edits.append((hint.start, hint.end, left + text + right))

    def _remove(self, hints: tuple[OptionHint, ...]) -> None:
        """Remove hints without joining the words on both sides of each."""
        for hint in hints:
            around = self.hinted.sql[hint.start - 1 : hint.start]
            follows = self.hinted.sql[hint.end : hint.end + 1]
            is_apart = around.isspace() or not follows or follows.isspace() or follows in ",;)"
            self.edits.append((hint.start, hint.end, "" if is_apart else " "))

    def _refuse_homeless(self) -> None:
        for index, hints in self.hinted.hints_before.items():
            if index not in self.done:
                raise self._refusal(hints[0], "an OPTIONS hint belongs behind the name of a table")

    def _refusal(self, hint: OptionHint, problem: str) -> StatementSyntaxError:
        sql = self.hinted.sql
        return StatementSyntaxError(
            sql=sql, offset=hint.start, found=sql[hint.start : hint.end], problem=problem
        )


_BEFORE_STATEMENT = frozenset(
    {"EXPLAIN", "EXTENDED", "FORMATTED", "CODEGEN", "COST", "BEGIN", "THEN", "ELSE", "DO"}
)
_NAME_KINDS = (TokenKind.WORD, TokenKind.QUOTED)
_BEFORE_SUBQUERY = frozenset(
    {"FROM", "JOIN", "IN", "EXISTS", "AS", "ANY", "SOME", "ALL", "UNION", "EXCEPT", "INTERSECT"}
)


def _joined(hints: tuple[OptionHint, ...]) -> str:
    return ", ".join(hint.entries for hint in hints if hint.entries)
