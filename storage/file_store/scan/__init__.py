"""Reading one snapshot: which files, which splits, which rows.

May import: `bag`, `data`, `metadata` and what is below them.
Start with `scan.py`, `scan_planner.py` (pure), `split_reader.py`.
"""
