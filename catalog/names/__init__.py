"""The names of a warehouse, what each one is the name of, and which directory belongs to it.

May import: `storage` and `catalog/errors.py`.
Start with `warehouse.py`, then `name_registry.py` and `directory_journal.py`.
"""
