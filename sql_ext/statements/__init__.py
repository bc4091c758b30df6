"""One frozen value for each kind of statement, and the clauses they are read from.

May import: `lexer`, and `catalog` for SQL that is written.
Start with `statements.py`, `create_table.py`.
"""
