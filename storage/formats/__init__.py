"""Parquet, ORC and Avro files as Arrow tables, behind one interface.

May import: `file_io`, `kernel`.
Start with `data_format.py`.
"""
