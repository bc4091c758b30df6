"""Requests of running streams: of streams that read a table and of streams that write one.

May import: `write`, `read`, `names`, `process`, `protocol`, `catalog`, `storage`.
Start with `stream_source.py`, `stream_requests.py`.
"""
