"""The queries of TPC-H and TPC-DS as Spark's own tests run them, with the columns of TPC-DS."""

from __future__ import annotations

import re
import struct
import zipfile
from typing import Final

from servers.maven_jars import maven_jars

_SCHEMA: Final = "org/apache/spark/sql/TPCDSSchema.class"
_SIZES: Final = {
    **dict.fromkeys((7, 8, 16, 19, 20), 3),
    15: 4,
    **dict.fromkeys((3, 4, 9, 10, 11, 12, 17, 18), 5),
    **dict.fromkeys((5, 6), 9),
}
"""Bytes of the constants of a class file other than texts, by kind (JVM specification, 4.4)."""


def queries(benchmark: str) -> dict[str, str]:
    """The queries of `tpch` or `tpcds` by name, such as q1 or q14a; the first call downloads."""
    with _jar() as jar:
        names = [n for n in jar.namelist() if re.fullmatch(rf"{benchmark}/q\w+\.sql", n)]
        found = {name[len(benchmark) + 1 : -4]: jar.read(name).decode() for name in names}
    return {name: found[name].strip().rstrip(";") for name in sorted(found, key=_number)}


def tpcds_tables() -> dict[str, str]:
    """The column definitions of each table of TPC-DS, as CREATE TABLE takes them."""
    with _jar() as jar:
        texts = _texts(jar.read(_SCHEMA))
    tables, name = {}, ""
    for text in texts:  # in the class a table's name comes before its columns
        if "|`" in text:
            tables[name] = re.sub(r"\n\s*\|?", " ", text).strip()
        elif re.fullmatch("[a-z_]+", text):
            name = text
    return tables


def _jar() -> zipfile.ZipFile:
    (path,) = maven_jars("spark-tests").glob("*.jar")
    return zipfile.ZipFile(path)


def _number(name: str) -> tuple[int, str]:
    number = re.sub(r"\D", "", name)
    return int(number), name


def _texts(data: bytes) -> list[str]:
    """The texts among the constants of a class file."""
    (count,) = struct.unpack_from(">H", data, 8)
    texts, at, number = [], 10, 1
    while number < count:
        kind = data[at]
        if kind == 1:
            (size,) = struct.unpack_from(">H", data, at + 1)
            texts.append(data[at + 3 : at + 3 + size].decode("utf-8", "replace"))
            at += 3 + size
        else:
            at += _SIZES[kind]
        number += 2 if kind in (5, 6) else 1
    return texts
