"""The planner's own life: its process, connection and sessions, and the Python workers of Spark.

May import: `storage/kernel`.
Start with `process.py`, `endpoint.py`.
"""
