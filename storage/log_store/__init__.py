"""The log of a table: its changes in the order of its snapshots, in Kafka or as files."""
