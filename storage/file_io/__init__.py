"""file_io."""
