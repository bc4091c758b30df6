"""Merging sorted runs into fewer: the choice, which is pure, and the work.

May import: `write`, `bag`, `data` and what is below them.
Start with `compaction_picker.py`, then `compaction_task.py`.
"""
