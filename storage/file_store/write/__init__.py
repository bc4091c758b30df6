"""Writing rows into files: buckets, memtables, sorted runs, and files that no commit published.

May import: `bag`, `commit`, `data` and what is below them.
Start with `table_writer.py`, then `memtable.py`.
"""
