"""What every room may use: errors, types, values, conditions, time, names.

May import: Nothing of ours.
Start with `errors.py`, `types.py`, `predicate.py`.
"""
