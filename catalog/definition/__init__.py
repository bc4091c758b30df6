"""Columns, types, defaults and options of a table: from Spark's description to ours and back.

May import: `storage` and `catalog/errors.py`.
Start with `table_definition.py`, `table_change.py`.
"""
