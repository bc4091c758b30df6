"""Public data sets are loaded, changed, compacted, followed, and read by every engine."""

from __future__ import annotations

from typing import Final

from tests.campaign.spark_program import QUICK, spark_program
from tests.campaign.technique import Case, Counts, Technique
from tests.real_data.data_sets import DATA_SETS
from tests.real_data.life import Life

_SHAPES: Final = (
    (True, "TBLPROPERTIES ('bucket' = '2')"),
    (False, ""),
    (True, "TBLPROPERTIES ('file.format' = 'orc')"),
    (True, "TBLPROPERTIES ('file.format' = 'avro')"),
)
"""With key or not, and the table's options."""

_ROWS: Final = (2_000, 20_000, 400_000)
"""How many rows of a data set the rounds use at most."""


def run_case(case: Case) -> Counts:
    """Give one data set its life in one shape of table."""
    number, which = divmod(case.number, len(DATA_SETS))
    round_, shape = divmod(number, len(_SHAPES))
    data, (is_keyed, options) = DATA_SETS[which], _SHAPES[shape]
    rows = data.read().slice(0, _ROWS[round_ % len(_ROWS)])
    spark = spark_program().newSession()
    for key, value in (QUICK if round_ == 0 else {}).items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    life = Life(
        spark=spark,
        warehouse=str(spark.conf.get("spark.sql.warehouse.dir")),
        folder=case.folder,
        data=data,
        name=f"{data.name}{case.campaign_seed}_{case.number}",
        options=options,
        is_keyed=is_keyed,
        rows=rows,
    )
    life.create()
    try:
        life.load()
        life.change()
        compared = life.check()
        life.compact()
        compared += life.check()
    finally:
        life.drop()
    return {"rows": compared, "data sets": 1}


SPARK_REAL_DATA: Final = Technique(
    name="spark-real-data",
    goal="public data sets read alike by Spark, plain Python and DuckDB after every change",
    suite_cases=0,
    release_cases=len(DATA_SETS) * len(_SHAPES) * len(_ROWS),
    run_case=run_case,
    needs_spark=True,
)
