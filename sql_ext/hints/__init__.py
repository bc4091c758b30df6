"""Rewrites what stands at a table in a query into SQL that Spark's parser takes.

These are `/*+ OPTIONS(...) */` behind its name, and calls of windowing functions.

May import: `lexer`.
Start with `option_hints.py`; `windowed_table.py` is the shorter one.
"""
