"""The topology of a warehouse: which jobs connect its tables, and what a barrier is in each.

Everything is on storage: the ledger of barriers, the registry of jobs, and beside each table the
barriers that its job has taken. So whoever reads needs no service. It may import `jobs` and what is
below. Start with `topology.py`, then `consistency.py`; from which columns those of a job's table
come is in `column_lineage.py`, and `query_lineage.py` reads it from the stored query.
"""
