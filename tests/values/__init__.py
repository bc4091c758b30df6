"""All values that users may store, as every random test draws them.

Start reading at `envelope.py`. A value has one plain form (`kinds.Value`), which is also the form
in which values are compared; `sql_values.py` writes it for Spark, `arrow_values.py` for Python and
brings back what either side returns. It imports nothing of the product.
"""
