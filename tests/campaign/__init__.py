"""The fault campaign: what a table must survive, tried many times, and the counts added up.

`technique.py` says what a technique is, `techniques.py` lists them all, each a module of its own;
`run.py` tries their cases and `totals.py` remembers how many held. Start with `make campaign`. The
modules called `spark_…` share one Spark (`spark_program.py`); `sessions/` is their model of
statements that run at once.
"""
