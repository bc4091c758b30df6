"""Columns, types, defaults and options of a table: Spark's description and the storage's.

May import: `storage` and `catalog/errors.py`.
Start with `table_definition.py`, `table_change.py`.
"""
