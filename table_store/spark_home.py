"""The Spark of this Python environment: where it is and what it has."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from table_store.storage.kernel.errors import TableStoreError

SPARK_VERSION = "4.2.0"


class SparkNotFoundError(TableStoreError):
    """The environment has no Spark."""

    condition = "TABLE_STORE_SPARK_NOT_FOUND"
    sql_state = "58000"

    def __init__(self, *, where: str) -> None:
        self.where = where
        super().__init__(
            f"No Spark found in {where}. Install it beside this package: "
            f"`{sys.executable} -m pip install pyspark=={SPARK_VERSION}`."
        )


@dataclass(frozen=True, slots=True)
class SparkHome:
    """A Spark installation. `conf` is the folder it reads its configuration from."""

    path: Path
    conf: Path

    @property
    def jars(self) -> Path:
        """The folder whose jars are on the class path of every Spark program."""
        return self.path / "jars"

    @property
    def version(self) -> str | None:
        """The version in the names of the jars; None if there is no Spark SQL among them."""
        for jar in self.jars.glob("spark-sql_*.jar"):
            found = re.fullmatch(r"spark-sql_[\d.]+-(.+)", jar.stem)
            if found:
                return found.group(1)
        return None


def find_spark_home(environment: Mapping[str, str], given: Path | None = None) -> SparkHome:
    """Return the Spark at `given`, else the pyspark that this interpreter imports.

    Args:
        environment: Of the process; `SPARK_CONF_DIR` decides where Spark reads its configuration.
        given: A SPARK_HOME, or None.

    Raises:
        SparkNotFoundError: There is no Spark.
    """
    if given is None:
        spec = importlib.util.find_spec("pyspark")
        if spec is None or not spec.submodule_search_locations:
            raise SparkNotFoundError(where=sys.prefix)
        given = Path(next(iter(spec.submodule_search_locations)))
    if not (given / "jars").is_dir():
        raise SparkNotFoundError(where=str(given))
    conf = environment.get("SPARK_CONF_DIR")
    return SparkHome(given, Path(conf) if conf else given / "conf")
