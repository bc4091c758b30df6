"""How a message, or a line of a file, holds a row: JSON, CSV or raw, for many at once.

May import: storage. Start with `named_format.py`, then `message_formats.py`.
"""
