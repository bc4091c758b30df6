"""What a table consists of, as frozen values: schema, snapshot, data file, sorted run, levels.

May import: `order`, `options`, `kernel`; nothing here reads or writes a file.
Start with `schema.py`, `data_file.py`, `snapshot.py`.
"""
