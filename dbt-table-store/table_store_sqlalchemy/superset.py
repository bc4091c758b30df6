"""What Superset knows of the dialect; it finds the class by the entry point. Needs Superset."""

from __future__ import annotations

from typing import Any

from sqlglot import Dialects
from superset.db_engine_specs.base import BaseEngineSpec
from superset.db_engine_specs.spark import SparkEngineSpec
from superset.sql.parse import SQLGLOT_DIALECTS

# Superset writes each statement anew before it runs it, in standard SQL unless it is told.
SQLGLOT_DIALECTS["tablestore"] = Dialects.SPARK


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
        """Return the tables of a schema."""
        return set(BaseEngineSpec.get_table_names(database, inspector, schema))

    @classmethod
    def get_view_names(cls, database: Any, inspector: Any, schema: str | None) -> set[str]:
        """Return the views of a schema."""
        return set(inspector.get_view_names(schema))

    @classmethod
    def get_materialized_view_names(
        cls, database: Any, inspector: Any, schema: str | None
    ) -> set[str]:
        """Return the materialized views of a schema, which SQLAlchemy 1.4 does not know."""
        with inspector.engine.connect() as connection:
            return set(inspector.dialect.get_materialized_view_names(connection, schema))
