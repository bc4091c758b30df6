"""Removing what nobody needs: old snapshots, and files that nothing refers to.

May import: `changes`, `commit`, `metadata` and what is below them.
Start with `expire.py`; the protocol is in `metadata/retention_floor.py` and `metadata/pin.py`.
"""
