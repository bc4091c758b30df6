"""Requests about what names stand for: namespaces, tables, views, foreign tables.

May import: `process`, `protocol`, the rooms of `catalog` and `storage`.
Start with `table_requests.py`.
"""
