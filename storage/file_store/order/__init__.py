"""How rows are ordered, hashed and merged: vectorised kernels over Arrow columns.

May import: `kernel`.
Start with `key_order.py`, then `merge.py`.
"""
