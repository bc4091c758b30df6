"""Files of a folder as a table: `'connector' = 'filesystem'`, each of them read once.

Where rows go to files is in `storage/log_store/sinks`. May import: `formats`, `positions`.
Start with `filesystem_source.py`, then `file_register.py`.
"""
