"""Spark's values that the protocol passes on unparsed: JSON that other modules interpret."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NewType

SparkExpression = NewType("SparkExpression", Mapping[str, Any])
"""A predicate or a part of one (`Json.expression` of the bridge); read in `spark_predicate.py`."""

SparkChange = NewType("SparkChange", Mapping[str, Any])
"""A change of a table's definition (`Json.change` of the bridge); read in `table_change.py`."""

SparkColumns = NewType("SparkColumns", str)
"""Columns: JSON of Spark's StructType."""
