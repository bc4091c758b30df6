"""Requests about materialized views, and how a view is refreshed with Spark.

May import: the planner's rooms `write`, `read`, `names`, `process`, `protocol`, and `catalog.jobs`.
Start with `refresh.py`.
"""
