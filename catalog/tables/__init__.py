"""The life of a managed table: made, changed, renamed, dropped, and who is told.

May import: `names`, `definition`, `storage`.
Start with `lifecycle.py`, `listeners.py`.
"""
