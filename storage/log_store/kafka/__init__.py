"""The log as a Kafka topic: the only room that imports a client of Kafka.

May import: The interface of the log and what is below it.
Start with `kafka_log_store.py`, then `kafka_log_writer.py` (the relay); for topics of others, which
tables may read, with `kafka_records.py`.
"""
