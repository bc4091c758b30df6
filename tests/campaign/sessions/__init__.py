"""Statements of several sessions at once, and whether a serial order of them exists.

`database.py` is the model that statements change, `statement.py` what they do to it, and
`serial_order.py` the search; none of them knows Spark. `random_statements.py` draws them.
"""
