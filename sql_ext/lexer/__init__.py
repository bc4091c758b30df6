"""Tokens of Spark SQL, cut where Spark's own lexer cuts them, and the small steps of reading them.

May import: `storage/kernel`.
Start with `sql_token.py`, `token_cursor.py`.
"""
