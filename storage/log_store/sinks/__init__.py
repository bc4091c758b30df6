"""Where the rows of a table `WITH ('connector' = '…')` go that an INSERT writes.

An INSERT commits a snapshot of the table first, and `SinkLog`, its `LogStore`, brings the changes
of all snapshots to its sink that are not out yet. May import: the other rooms of the log and what
is below them. Start with `sink.py`.
"""
