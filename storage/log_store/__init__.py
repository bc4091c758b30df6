"""The log of a table: its changes in the order of its snapshots, in Kafka or as files.

May import: `file_store` and what is below it. The order in here, top first: `logged_table`,
`log_listener`, `log_stores`, `sinks`, the two implementations (`kafka`, `file_log_store`), the
interface, `encoding`.
Start with `log_store.py`, the interface.
"""
