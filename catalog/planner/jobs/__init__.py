"""Requests about materialized views and streaming INSERTs, and how Spark does their epochs.

May import: the planner's rooms `write`, `read`, `names`, `process`, `protocol`, and `catalog.jobs`.
Start with `epoch.py`; then `refresh.py` for views, `job_requests.py` for INSERTs.
"""
