"""The deletes of a bag that others change, too: only of rows that are there."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from table_store.catalog.names.identifier import quoted
from table_store.catalog.planner.epochs.difference import form_of

_FORM: Final = "__form"
_NUMBER: Final = "__number"
_COUNT: Final = "__count"


def present_rows(deletes: DataFrame, present: DataFrame) -> DataFrame:
    """Those of some rows to delete that a bag has, each as often as the bag has it.

    A delete of a row that is not there would wait in the bag and cancel a later insert. `present`
    has the bag's rows, which are read once; `deletes` has the same columns and others.
    """
    fields = present.schema.fields
    form = f"struct({', '.join(form_of(quoted(f.name), f.dataType) for f in fields)})"
    formed = deletes.selectExpr("*", f"{form} AS {_FORM}")
    counts = (
        present.selectExpr(f"{form} AS {_FORM}")
        .join(F.broadcast(formed.select(_FORM).distinct()), _FORM, "left_semi")
        .groupBy(_FORM)
        .agg(F.count("*").alias(_COUNT))
    )
    number = F.row_number().over(Window.partitionBy(_FORM).orderBy(F.lit(0)))
    return (
        formed.withColumn(_NUMBER, number)
        .join(counts, _FORM)
        .where(f"{_NUMBER} <= {_COUNT}")
        .select(*map(quoted, deletes.columns))
    )
