"""Writing rows of one bucket into data files, and reading them under the schema of the caller.

May import: `metadata` and what is below it, `formats`.
Start with `data_file_writer.py`, `data_file_reader.py`.
"""
