"""What lies outside: tables `WITH ('connector' = '…')`, whose rows come from elsewhere.

A source says up to where it can be read now (`positions`); a barrier fixes that before anybody
reads it, and a range of positions has the same rows each time it is read. It may import what knows
names and definitions, and storage. Start with `source.py`, then a room: `datagen` is the smallest.
"""
