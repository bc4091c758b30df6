"""Rewrites `/*+ OPTIONS(...) */` behind a table's name into SQL that Spark's parser takes.

May import: `lexer`.
Start with `option_hints.py`.
"""
