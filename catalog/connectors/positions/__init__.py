"""Up to where a source can be read, and what a scan asks of it.

May import: storage. Start with `position.py`, then `source_read.py`.
"""
