"""Files with rows as other programs write them, and as other libraries read them."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

import duckdb
import fastavro
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.values.arrow_layout import laid_out
from tests.values.arrow_values import Row, arrow_table
from tests.values.kinds import INTEGERS, Array, Kind, Map, Struct, inner_kinds, time_digits

Write = Callable[[pa.Table, Path, random.Random], None]
Read = Callable[[Path], Any]

INT96_MAKER: Final = "spark int96"
NULL_TEXT: Final = "\\N"
"""In CSV."""

_CODECS: Final = ("none", "snappy", "gzip", "brotli", "lz4", "zstd")


@dataclass(frozen=True, slots=True)
class Maker:
    """A program that writes files.

    Attributes:
        name: of the program.
        form: of the files, as `format` of a table names it.
        write: writes rows to one file.
        holds: whether the file keeps all values of a kind.
    """

    name: str
    form: str
    write: Write
    holds: Callable[[Kind], bool]


def _all(kind: Kind) -> bool:
    return "VARIANT" not in inner_kinds(kind)


def _no_maps(kind: Kind) -> bool:
    return _all(kind) and not any(isinstance(inner, Map) for inner in inner_kinds(kind))


def _in_orc(kind: Kind) -> bool:
    """Arrow reads its timestamps as nanoseconds, Spark sorts its maps; it has no time of day."""
    without = ("TIMESTAMP", "TIMESTAMP_NTZ")
    return _no_maps(kind) and not any(
        inner in without or time_digits(inner) is not None for inner in inner_kinds(kind)
    )


def _in_text(kind: Kind) -> bool:
    """What every program spells in the same way."""
    return kind in ("BOOLEAN", *INTEGERS, "STRING")


def _in_json(kind: Kind) -> bool:
    return not isinstance(kind, Map) and all(
        isinstance(inner, Array | Struct) or _in_text(inner) for inner in inner_kinds(kind)
    )


def _in_avro(kind: Kind) -> bool:
    return _in_text(kind) or kind in ("BINARY", "DOUBLE")


def _pyarrow(rows: pa.Table, path: Path, dice: random.Random) -> None:
    options: dict[str, Any] = {
        "compression": dice.choice(_CODECS),
        "use_dictionary": dice.random() < 0.6,
        "data_page_version": dice.choice(["1.0", "2.0"]),
        "row_group_size": dice.choice([1, 7, 1 << 20]),
        "data_page_size": dice.choice([64, 1 << 20]),
        "dictionary_pagesize_limit": dice.choice([1, 1 << 20, 8 << 20]),
        "store_schema": dice.random() < 0.7,
        "write_page_index": dice.random() < 0.3,
        "write_statistics": dice.random() < 0.7,
    }
    if not options["use_dictionary"] and dice.random() < 0.5:
        encodings = {
            name: dice.choice(encoding)
            for name, kind in zip(rows.column_names, rows.schema.types, strict=True)
            if (encoding := _encodings(kind)) and "." not in name
        }
        options["column_encoding"] = encodings or None
    # Arrow writes a delta-encoded dictionary, but does not read it.
    is_plain = options.get("column_encoding")
    pq.write_table(rows if is_plain else laid_out(rows, dice), path, **options)


def _encodings(kind: pa.DataType) -> Sequence[str]:
    if pa.types.is_int32(kind) or pa.types.is_int64(kind):
        return "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT", "PLAIN"
    if pa.types.is_floating(kind):
        return "BYTE_STREAM_SPLIT", "PLAIN"
    if pa.types.is_string(kind) or pa.types.is_binary(kind):
        return "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"
    return ()


def _pandas(rows: pa.Table, path: Path, dice: random.Random) -> None:
    frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    if dice.random() < 0.3:
        frame.index = pd.Index([f"r{at}" for at in range(len(frame))], name="row name")
    elif dice.random() < 0.5:
        frame = frame.iloc[::-1]
    for name in frame.columns:
        if rows.schema.field(name).type == pa.string() and dice.random() < 0.3:
            frame[name] = frame[name].astype("category")
    compression = dice.choice(["snappy", "gzip", "brotli", "zstd", "lz4", None])
    frame.to_parquet(path, compression=compression)


def _polars(rows: pa.Table, path: Path, dice: random.Random) -> None:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    frame.write_parquet(
        path,
        compression=dice.choice(["zstd", "lz4", "snappy", "gzip", "brotli", "uncompressed"]),
        row_group_size=dice.choice([1, 100, None]),
        data_page_size=dice.choice([None, 100]),
        statistics=dice.random() < 0.5,
    )


def _duckdb(rows: pa.Table, path: Path, dice: random.Random) -> None:
    options = [
        f"COMPRESSION {dice.choice(['snappy', 'zstd', 'gzip', 'brotli', 'lz4', 'uncompressed'])}",
        f"PARQUET_VERSION {dice.choice(['v1', 'v2'])}",
        f"DICTIONARY_SIZE_LIMIT {dice.choice([1, 100_000])}",
    ]
    _copy(rows, path, f"FORMAT parquet, {', '.join(options)}")


def _copy(rows: pa.Table, path: Path, options: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", rows)
        connection.execute(f"COPY (FROM rows) TO '{path}' ({options})")


def _orc(rows: pa.Table, path: Path, dice: random.Random) -> None:
    pa.orc.write_table(
        rows,
        path,
        compression=dice.choice(["uncompressed", "zlib", "snappy", "lz4", "zstd"]),
        stripe_size=dice.choice([64, 1 << 26]),
        dictionary_key_size_threshold=dice.choice([0.0, 1.0]),
    )


def _csv_by_pandas(rows: pa.Table, path: Path, dice: random.Random) -> None:
    frame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    frame.to_csv(
        path,
        index=False,
        header=False,
        na_rep=NULL_TEXT,
        quoting=csv.QUOTE_MINIMAL,
        lineterminator=dice.choice(["\n", "\r\n"]),
        encoding=dice.choice(["utf-8", "utf-8-sig"]),
    )


def _csv_by_polars(rows: pa.Table, path: Path, _: random.Random) -> None:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    frame.write_csv(path, include_header=False, null_value=NULL_TEXT)


def _csv_by_duckdb(rows: pa.Table, path: Path, _: random.Random) -> None:
    _copy(rows, path, f"FORMAT csv, HEADER false, NULLSTR '{NULL_TEXT}'")


def _json_by_python(rows: pa.Table, path: Path, dice: random.Random) -> None:
    end = dice.choice(["\n", "\r\n", "\n\n"])
    is_ascii = dice.random() < 0.5
    lines = [json.dumps(row, ensure_ascii=is_ascii) + end for row in rows.to_pylist()]
    begin = "" if is_ascii or dice.random() < 0.7 else "\ufeff"
    path.write_bytes((begin + "".join(lines)).encode())


def _json_by_polars(rows: pa.Table, path: Path, _: random.Random) -> None:
    frame = pl.from_arrow(rows)
    assert isinstance(frame, pl.DataFrame)
    frame.write_ndjson(path)


def _json_by_duckdb(rows: pa.Table, path: Path, _: random.Random) -> None:
    _copy(rows, path, "FORMAT json")


_AVRO: Final = {
    "bool": "boolean",
    "int8": "int",
    "int16": "int",
    "int32": "int",
    "int64": "long",
    "double": "double",
    "string": "string",
    "binary": "bytes",
}


def _avro(rows: pa.Table, path: Path, dice: random.Random) -> None:
    fields = [{"name": f.name, "type": ["null", _AVRO[str(f.type)]]} for f in rows.schema]
    schema = {"type": "record", "name": "r", "fields": fields}
    with path.open("wb") as file:
        codec = dice.choice(["null", "deflate", "bzip2", "xz"])
        fastavro.writer(file, schema, rows.to_pylist(), codec)


MAKERS: Final = (
    Maker("pyarrow", "parquet", _pyarrow, _all),
    Maker("pandas", "parquet", _pandas, _all),
    Maker("polars", "parquet", _polars, _no_maps),
    Maker("duckdb", "parquet", _duckdb, _all),
    Maker("pyarrow", "orc", _orc, _in_orc),
    Maker("fastavro", "avro", _avro, _in_avro),
    Maker("pandas", "csv", _csv_by_pandas, _in_text),
    Maker("polars", "csv", _csv_by_polars, _in_text),
    Maker("duckdb", "csv", _csv_by_duckdb, _in_text),
    Maker("python", "json", _json_by_python, _in_json),
    Maker("polars", "json", _json_by_polars, _in_json),
    Maker("duckdb", "json", _json_by_duckdb, _in_json),
)


def _duckdb_table(path: Path) -> pa.Table:
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.read_parquet(str(path)).to_arrow_table()


READERS: Final[dict[str, tuple[Read, ...]]] = {
    "parquet": (
        pq.read_table,
        pl.read_parquet,
        lambda path: pd.read_parquet(path, dtype_backend="pyarrow"),
        _duckdb_table,
    ),
    "orc": (pa.orc.read_table,),
}
"""What plain Python reads by itself, by form."""


def spark_makers(session: SparkSession) -> tuple[Maker, ...]:
    """Spark itself, also as earlier versions wrote."""

    def write_as(kind: str, rows: pa.Table, path: Path, dice: random.Random) -> None:
        conf = {
            "spark.sql.parquet.writeLegacyFormat": dice.choice(["true", "false"]),
            "spark.sql.parquet.outputTimestampType": kind,
            "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
            "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
        }
        for key, value in conf.items():
            session.conf.set(key, value)
        folder = path.parents[1] / "by spark"
        codec = dice.choice(["none", "snappy", "gzip", "lz4_raw", "zstd"])
        frame: Any = session.createDataFrame(rows).coalesce(1)
        frame.write.option("compression", codec).parquet(str(folder))
        (file,) = folder.glob("part-*")
        file.rename(path)

    return (
        Maker("spark", "parquet", partial(write_as, "TIMESTAMP_MICROS"), _all),
        Maker(INT96_MAKER, "parquet", partial(write_as, "INT96"), _all),
    )


def write_rows(
    rows: Sequence[Row], columns: dict[str, Kind], maker: Maker, path: Path, dice: random.Random
) -> None:
    """Let a program write rows."""
    table = arrow_table(rows, columns)
    if maker.name.startswith("spark"):
        table = table.cast(pa.schema([field.with_nullable(True) for field in table.schema]))
    maker.write(table, path, dice)
