"""A cursor over the tokens of one statement, with the small steps that read every clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from table_store.catalog.definition.sql_literal import string_value
from table_store.catalog.names.identifier import unquoted
from table_store.sql_ext.lexer.sql_token import Token, TokenKind, tokenize
from table_store.sql_ext.lexer.syntax_error import StatementSyntaxError

_OPENING = {"(": ")", "[": "]"}


class TokenCursor:
    """Reads tokens forward and lazily; tokens have offsets into the text `sql`."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._source: Iterator[Token] = tokenize(sql)
        self._read: list[Token] = []
        self._index = 0

    # -- looking -----------------------------------------------------------------------------------

    def peek(self, ahead: int = 0) -> Token:
        """Return the token `ahead` places on; behind the last one it is an END token."""
        wanted = self._index + ahead
        while len(self._read) <= wanted:
            token = next(self._source, None)
            if token is None:
                return Token(TokenKind.END, "", len(self.sql), len(self.sql))
            self._read.append(token)
        return self._read[wanted]

    def previous_end(self) -> int:
        """Return the offset behind the token read last; 0 if none was read."""
        return self._read[self._index - 1].end if self._index else 0

    def at_words(self, *words: str, ahead: int = 0) -> bool:
        """Whether exactly these keywords come next."""
        return all(self.peek(ahead + i).keyword == word for i, word in enumerate(words))

    def at_any_word(self, words: frozenset[str]) -> bool:
        """Whether one of these keywords comes next."""
        return self.peek().keyword in words

    def at_symbol(self, symbol: str, ahead: int = 0) -> bool:
        """Whether this symbol comes next."""
        return self.peek(ahead).is_symbol(symbol)

    def at_string(self, ahead: int = 0) -> bool:
        """Whether a string literal comes next."""
        return self.peek(ahead).kind is TokenKind.STRING

    def at_identifier(self, ahead: int = 0) -> bool:
        """Whether a word or a name in back-ticks comes next; keywords are words too."""
        return self.peek(ahead).kind in (TokenKind.WORD, TokenKind.QUOTED)

    def at_statement_end(self) -> bool:
        """Whether nothing but semicolons is left."""
        ahead = 0
        while self.at_symbol(";", ahead):
            ahead += 1
        return self.peek(ahead).kind is TokenKind.END

    # -- moving ------------------------------------------------------------------------------------

    def mark(self) -> int:
        """Return the present place, for `reset`."""
        return self._index

    def reset(self, mark: int) -> None:
        """Go back to a place that `mark` returned."""
        self._index = mark

    def advance(self) -> Token:
        """Read one token; at the end it is the END token every time."""
        token = self.peek()
        if token.kind is not TokenKind.END:
            self._index += 1
        return token

    def accept_words(self, *words: str) -> bool:
        """Read exactly these words, or nothing."""
        if not self.at_words(*words):
            return False
        self._index += len(words)
        return True

    def accept_symbol(self, symbol: str) -> bool:
        """Read this symbol, or nothing."""
        if not self.at_symbol(symbol):
            return False
        self._index += 1
        return True

    def expect_words(self, *words: str) -> None:
        """Read these words; an error names the first that is missing."""
        for word in words:
            if not self.accept_words(word):
                raise self.error(word)

    def expect_symbol(self, symbol: str) -> None:
        """Read this symbol."""
        if not self.accept_symbol(symbol):
            raise self.error(f"'{symbol}'")

    def expect_statement_end(self) -> None:
        """Check that nothing but semicolons is left."""
        if not self.at_statement_end():
            raise self.error("the end of the statement")

    # -- reading values ----------------------------------------------------------------------------

    def identifier(self, what: str = "a name") -> str:
        """Read one name; return it without its back-ticks."""
        if not self.at_identifier():
            raise self.error(what)
        return unquoted(self.advance().text)

    def name(self, what: str = "a table name") -> tuple[str, ...]:
        """Read a name of one or more parts.

        An unquoted part may contain a dollar (`t$snapshots`), and `IDENTIFIER('a.b')` is the name
        in its literal.
        """
        if self.at_words("IDENTIFIER") and self.at_symbol("(", 1):
            return self._identifier_clause()
        parts = [self._name_part(what)]
        while self.accept_symbol("."):
            parts.append(self._name_part(what))
        return tuple(parts)

    def _name_part(self, what: str) -> str:
        part = self.identifier(what)
        while self.at_symbol("$") and self.peek().start == self.previous_end():
            suffix = self.peek(1)
            if suffix.kind is not TokenKind.WORD or suffix.start != self.peek().end:
                break
            self.advance()
            part += "$" + self.advance().text
        return part

    def _identifier_clause(self) -> tuple[str, ...]:
        self.expect_words("IDENTIFIER")
        self.expect_symbol("(")
        inner = TokenCursor(self.string("a string literal"))
        self.expect_symbol(")")
        if inner.at_words("IDENTIFIER") and inner.at_symbol("(", 1):
            raise inner.error("a table name")
        parts = inner.name()
        inner.expect_statement_end()
        return parts

    def string(self, what: str = "a string") -> str:
        """Read a string literal; neighbouring literals make one value, as in Spark."""
        if not self.at_string():
            raise self.error(what)
        value = ""
        while self.at_string():
            value += string_value(self.advance().text)
        return value

    def group(self) -> str:
        """Read a group in parentheses; return its text with the parentheses."""
        if not self.at_symbol("("):
            raise self.error("'('")
        start = self.peek().start
        self.advance()
        self.skip_until(lambda _: False)
        self.expect_symbol(")")
        return self.sql[start : self.previous_end()]

    def skip_until(self, stops: Callable[[TokenCursor], bool]) -> None:
        """Read up to an unmatched closing bracket, or the end, or until `stops` returns True.

        `stops` is asked only outside of brackets.
        """
        pending: list[str] = []
        while self.peek().kind is not TokenKind.END:
            token = self.peek()
            if not pending and stops(self):
                return
            if token.kind is TokenKind.SYMBOL:
                if token.text in _OPENING:
                    pending.append(_OPENING[token.text])
                elif token.text in (")", "]"):
                    if not pending:
                        return
                    if pending.pop() != token.text:
                        raise self.error("brackets that match")
            elif token.kind is TokenKind.UNCLOSED_COMMENT:
                raise self.error("'*/'")
            self.advance()
        if pending:
            raise self.error(f"'{pending[-1]}'")

    def rest_of_statement(self) -> str:
        """Read to the end; return the text as written, without the semicolons at its end."""
        start = end = self.peek().start
        while self.peek().kind is not TokenKind.END:
            token = self.advance()
            if token.kind is TokenKind.UNCLOSED_COMMENT:
                raise self.error("'*/'")
            if not token.is_symbol(";"):
                end = token.end
        return self.sql[start:end]

    def error(self, expected: str) -> StatementSyntaxError:
        """Return the error for a next token that is not `expected`."""
        return self.refusal(f"expected {expected}")

    def refusal(self, problem: str) -> StatementSyntaxError:
        """Return the error for a next token that is wrong because of `problem`."""
        token = self.peek()
        found = None if token.kind is TokenKind.END else token.text
        return StatementSyntaxError(sql=self.sql, offset=token.start, found=found, problem=problem)
