"""Reads and writes the small files of a table: schemas, snapshots, manifests, pins, consumers.

May import: `model` and what is below it, `file_io`.
Start with `snapshot_store.py`, then `live_files.py`.
"""
