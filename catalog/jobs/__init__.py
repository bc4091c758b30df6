"""Jobs: what keeps a table equal to a query over other tables.

May import: `tables`, `definition` and `names` of the catalog, and `storage`; no Spark.
Start with `progress.py`: up to where a job has come, and how that survives a crash; then
`delta_terms.py`: the rule by which the change of a result follows from the changes of tables.
"""
