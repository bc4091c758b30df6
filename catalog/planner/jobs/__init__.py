"""Requests about materialized views and streaming INSERTs, and about the tables that they read.

May import: the planner's room `epochs`, what that may import, and `catalog.jobs`. Start with
`refresh.py` for views, `job_requests.py` for INSERTs.
"""
