"""Publishing the next snapshot: attempt, outcome, conflict, repetition.

May import: `metadata` and what is below it; nothing here opens a data file.
Start with `commit.py`, the loop; `commit_attempt.py`, one turn of it.
"""
