"""The small files of a table (schemas, snapshots, manifests, pins, consumers): kept and read back.

May import: `model` and what is below it, `file_io`.
Start with `snapshot_store.py`, then `live_files.py`.
"""
