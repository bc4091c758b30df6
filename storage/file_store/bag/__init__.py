"""Tables without key, where a delete removes one row that equals it.

May import: `data` and what is below it.
Start with `bag.py`, which counts rows; `bag_place.py` says in which bucket they lie.
"""
