"""Spark Table Store for SQLAlchemy, and Superset on it."""
