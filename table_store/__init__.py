"""table_store."""
