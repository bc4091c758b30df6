"""Rows that are made: tables `WITH ('connector' = 'datagen')`.

A row follows from its number alone, so that the same range always has the same rows. May import:
`positions`. Start with `datagen.py`, then `generators.py`.
"""
