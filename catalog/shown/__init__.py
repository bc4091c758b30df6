"""What a user may ask about a table, besides its rows: DESCRIBE, system tables, procedures.

May import: `tables` and what is below it.
Start with `system_tables.py`, `procedures.py`.
"""
