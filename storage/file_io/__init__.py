"""Files and objects: the only room that names a file system library.

May import: `kernel`.
Start with `file_io.py`, the interface; the implementations stand beside it.
"""
