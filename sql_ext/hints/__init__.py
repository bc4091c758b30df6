"""`/*+ OPTIONS(...) */` behind a table's name, rewritten to what Spark's parser takes.

May import: `lexer`.
Start with `option_hints.py`.
"""
