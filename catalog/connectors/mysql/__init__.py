"""Tables of a database as they change: `'connector' = 'mysql-cdc'`.

First the table in chunks by key, without locks, then the binlog. May import: `positions`. Start
with `mysql_source.py`, then `mysql_chunks.py` and `mysql_binlog.py`.
"""
