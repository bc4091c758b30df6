"""Tables without key, where a delete takes away one row that equals it.

May import: `data` and what is below it.
Start with `bag.py`, the counting; `bag_place.py`, where such rows lie.
"""
