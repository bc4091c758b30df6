"""Publishing the next snapshot: attempt, outcome, conflict, repetition.

May import: `metadata` and what is below it; rows and data files are opened by nobody here.
Start with `commit.py`, the loop; `commit_attempt.py`, one turn of it.
"""
