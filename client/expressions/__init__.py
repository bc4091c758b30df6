"""SQL expressions that are evaluated without Spark, with Spark's result or not at all.

It imports the types, predicates and errors of storage. Start reading at `sql_text.py`.
"""
