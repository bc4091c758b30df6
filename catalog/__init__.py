"""What Spark sees: names, definitions, tables, and (in `bridge` and `planner`) how it asks.

May import: `storage`. The order in here, top first: `planner`, `shown`, `tables`, `definition`
and `names`.
Start with `tables/lifecycle.py`; files of a warehouse in `names/name_record.py`.
"""
