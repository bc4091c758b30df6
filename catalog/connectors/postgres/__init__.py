"""Tables of a database as they change: `'connector' = 'postgres-cdc'`.

First the table in chunks by key, without locks, then the changes that a replication slot keeps.
May import: `positions`. Start with `postgres_source.py`, then `postgres_log.py` and `pgoutput.py`.
"""
