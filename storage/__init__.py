"""Tables as files: no Spark and no SQL in here; a Python program can use it alone.

May import: `log_store` (top) over `file_store`, `formats`, `file_io` and `options`, down to
`kernel`; none of them imports `catalog` or `sql_ext`.
Start with `file_store/table.py`; what stands on disk is in `FORMAT.md`.
"""
