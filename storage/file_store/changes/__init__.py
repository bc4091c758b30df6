"""Reading what happened between two snapshots, exact or net, with images from before.

May import: `scan` and what is below it.
Start with `change_scan.py`, `change_planner.py` (pure), `change_reader.py`.
"""
