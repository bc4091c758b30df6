"""Changes as text: Debezium JSON of whole Arrow columns.

May import: `file_store` and `kernel`.
Start with `debezium_json.py`.
"""
