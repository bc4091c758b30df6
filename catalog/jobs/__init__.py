"""Jobs: what keeps a table equal to a query over other tables.

May import: `tables`, `definition` and `names` of the catalog, and `storage`; no Spark.
Start with `delta.py`: the rules by which the change of a result follows from the changes of tables;
then `cost.py`: when they pay off; and `progress.py`: up to where a job has come, and how that
survives a crash, with `sink_commit.py`: what the snapshots of a sink tell of it; and `ledger.py`:
which snapshots of tables belong together.
"""
