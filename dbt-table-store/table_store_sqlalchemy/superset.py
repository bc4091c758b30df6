"""What Superset knows of the dialect; it finds the class by the entry point. Needs Superset."""

from __future__ import annotations

from typing import Any

from superset.db_engine_specs.base import BaseEngineSpec
from superset.db_engine_specs.spark import SparkEngineSpec


class TableStoreEngineSpec(SparkEngineSpec):
    """Spark's time grains and functions; names of tables come from the dialect.

    Superset's class for Hive reads them from the first column of SHOW VIEWS, which is the schema.
    """

    engine = "tablestore"
    engine_name = "Spark Table Store"
    default_driver = "thrift"
    sqlalchemy_uri_placeholder = "tablestore://user@host:10000/schema"

    @classmethod
    def get_table_names(cls, database: Any, inspector: Any, schema: str | None) -> set[str]:
        """Return the tables of a schema, materialized views among them."""
        names: set[str] = BaseEngineSpec.get_table_names(database, inspector, schema)
        return names | set(inspector.get_materialized_view_names(schema))

    @classmethod
    def get_view_names(cls, database: Any, inspector: Any, schema: str | None) -> set[str]:
        """Return the views of a schema."""
        return set(inspector.get_view_names(schema))
