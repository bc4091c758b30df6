"""Tokens of Spark SQL, the same as those of Spark's own lexer, and a cursor that reads them.

May import: `catalog/definition/sql_literal.py`, `catalog/names/identifier.py`, `storage/kernel`.
Start with `sql_token.py`, `token_cursor.py`.
"""
