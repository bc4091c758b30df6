"""Requests about reading: scans, changes, partitions, and aggregates from manifests alone.

May import: `names`, `process`, `protocol`, `catalog`, `storage`.
Start with `scan_requests.py`, then `raw_split.py` and `read_task.py`.
"""
