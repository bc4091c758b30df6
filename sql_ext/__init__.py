"""sql_ext."""
