"""The version that dbt shows of its adapter."""

version = "0.1.0"
