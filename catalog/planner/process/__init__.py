"""The planner process with its connection to the JVM, its sessions, and Spark's Python workers.

May import: `protocol`, `catalog/errors.py`, `storage/kernel`.
Start with `process.py`, `endpoint.py`.
"""
