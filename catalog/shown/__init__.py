"""What a user may ask of a table beside its rows: DESCRIBE, system tables, procedures.

May import: `tables` and what is below it.
Start with `system_tables.py`, `procedures.py`.
"""
