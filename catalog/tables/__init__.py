"""The life of a managed table: it is created, changed, renamed and dropped; listeners are told.

May import: `names`, `definition`, `storage`.
Start with `lifecycle.py`, `listeners.py`.
"""
