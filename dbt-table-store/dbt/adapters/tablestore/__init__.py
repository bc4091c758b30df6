"""dbt's adapter of type `tablestore`: dbt-spark, with what Spark Table Store can do beyond it.

The statements are macros in `dbt.include.tablestore`. Start reading in `impl.py`.
"""

from dbt.adapters.base import AdapterPlugin
from dbt.adapters.tablestore.connections import TableStoreCredentials
from dbt.adapters.tablestore.impl import TableStoreAdapter
from dbt.include import tablestore

Plugin = AdapterPlugin(
    adapter=TableStoreAdapter,
    credentials=TableStoreCredentials,
    include_path=tablestore.PACKAGE_PATH,
    dependencies=["spark"],
)
