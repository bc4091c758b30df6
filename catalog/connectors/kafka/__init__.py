"""Topics as tables: `'connector' = 'kafka'` and `'upsert-kafka'`, what they are to their readers.

Where rows go to a topic is in `storage/log_store/sinks`. May import: `formats`, `positions`.
Start with `kafka_source.py`, then `kafka_definition.py` and `message_rows.py`.
"""
