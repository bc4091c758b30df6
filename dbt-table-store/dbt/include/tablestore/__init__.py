"""The macros of the adapter `tablestore`, which stand before those of dbt-spark."""

from pathlib import Path

PACKAGE_PATH = str(Path(__file__).parent)
