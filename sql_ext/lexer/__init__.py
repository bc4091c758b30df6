"""Tokens of Spark SQL, the same as those of Spark's own lexer, and a cursor that reads them.

May import: `storage/kernel`.
Start with `sql_token.py`, `token_cursor.py`.
"""
