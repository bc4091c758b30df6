"""An LSM tree of sorted runs under versioned snapshots.

Top first, the rooms are `expiry`, `compaction`, `changes`, `scan`, `write`, `commit` and `bag`,
`data`, `metadata`, `model`, `order`.

May import: Each room those behind it in this list, and `formats`, `options`, `file_io`, `kernel`.
Start with `table.py`, the door; then `model/snapshot.py` and `commit/commit.py`.
"""
