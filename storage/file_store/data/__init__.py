"""Rows of one bucket as data files, and back under the schema that the caller wants to see.

May import: `metadata` and what is below it, `formats`.
Start with `data_file_writer.py`, `data_file_reader.py`.
"""
