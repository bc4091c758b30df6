"""The planner's own life: its process, connection and sessions, and the Python workers of Spark.

May import: `protocol`, `catalog/errors.py`, `storage/kernel`.
Start with `process.py`, `endpoint.py`.
"""
