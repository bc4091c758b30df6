"""Rows that nobody drew for a test: public data sets that packages on PyPI carry.

`data_sets.py` reads them and names their licenses; `life.py` is what each of them goes through.
They import `table_store` and `tests.integration`. Start reading at `data_set.py`.
"""
