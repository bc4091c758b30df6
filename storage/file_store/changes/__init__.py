"""Reading the changes between two snapshots, each one or their net effect.

May import: `scan` and what is below it.
Start with `change_scan.py`, `change_planner.py` (pure), `change_reader.py`.
"""
