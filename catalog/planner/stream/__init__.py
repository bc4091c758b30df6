"""Requests of running streams, those that read a table and those that write one.

May import: `write`, `read`, `names`, `process`, `protocol`, `catalog`, `storage`.
Start with `stream_source.py`, `stream_requests.py`.
"""
