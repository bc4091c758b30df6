"""file_store."""
