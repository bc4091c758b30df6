"""How Spark does an epoch of a job: what has changed, the rule, the rows, the commit.

May import: the planner's rooms `write`, `read`, `names`, `process`, `protocol`, and `catalog.jobs`,
`catalog.meta_service`. Start with `epoch.py`, then `job_query.py` and `delta.py`.
"""
