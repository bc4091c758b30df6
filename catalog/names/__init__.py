"""Which names a warehouse has, what each stands for, and which directory is whose.

May import: `storage` and `catalog/errors.py`.
Start with `warehouse.py`, then `name_registry.py` and `directory_journal.py`.
"""
