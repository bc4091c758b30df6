"""Requests that change rows, the tasks that write them, and the compaction that follows.

May import: `read`, `names`, `process`, `protocol`, `catalog`, `storage`.
Start with `write_requests.py`, then `write_plan.py` and `write_task.py`.
"""
