"""One frozen value for each kind of statement, and the parsers of their clauses.

May import: `lexer`, and `catalog` to write SQL.
Start with `statements.py`, `create_table.py`.
"""
