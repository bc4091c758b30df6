"""Goal: the bridge finds page headers of any length, wherever they are cut, and believes none.

No session runs. The headers are those that the plain Python reader is tested with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError

from tests.integration.plain_jvm import plain_jvm
from tests.unit.storage.formats.page_header import BOUND_LENGTHS, page_header

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def jvm() -> Iterator[Any]:
    """A JVM with the bridge's classes."""
    with plain_jvm() as started:
        yield started


def _headers(jvm: Any) -> Any:
    return jvm.org.apache.spark.sql.tablestore.PageHeaderBytes


@pytest.mark.parametrize("length", BOUND_LENGTHS)
def test_headers_of_any_length(jvm: Any, length: int) -> None:
    """They are found if they are complete, and there is none before."""
    header = page_header(length, 3000, 7)
    data = bytearray(header + b"page")
    page = _headers(jvm).parse(data, len(data)).get()
    assert page._2() == len(header)
    assert page._1().getCompressed_page_size() == 3000
    assert page._1().getData_page_header().getNum_values() == 7
    for count in {0, 1, 9, len(header) // 2, len(header) - 3, len(header) - 1}:
        assert _headers(jvm).parse(data[:count], len(data)).isEmpty()
        with pytest.raises(Py4JJavaError, match="a page header is not complete"):
            _headers(jvm).parse(data[:count], count)


@pytest.mark.parametrize("stated", [100_001, 1 << 31, (1 << 63) - 1, 1 << 70, 1 << 7000])
def test_a_damaged_length_is_not_believed(jvm: Any, stated: int) -> None:
    """It would end behind the column."""
    data = bytearray(page_header(20, 10, 1, stated))
    with pytest.raises(Py4JJavaError, match="page header"):
        _headers(jvm).parse(data, 100_000)


def test_what_is_no_header(jvm: Any) -> None:
    """The message is about the page, not about how it was read."""
    for data in (b"\xff" * 8, b"\0", b"\x15\x01\0", b"\x19\x11\0\0", b"\x05\x02\0"):
        with pytest.raises(Py4JJavaError, match="it has no page header where one belongs"):
            _headers(jvm).parse(bytearray(data), 1000)


@pytest.mark.parametrize("piece_bytes", [100, 511, 512, 4096, 10_000, 1 << 20])
def test_headers_that_span_reads(jvm: Any, tmp_path: Path, piece_bytes: int) -> None:
    """A column arrives in pieces of any size; a wrong header is noticed in any of its pages."""
    file = tmp_path / "file.parquet"
    texts = [f"{'z' * length}{i}" for length in (0, 600, 4000, 10) for i in range(4)]
    options = {"max_rows_per_page": 2, "compression": "none", "use_dictionary": False}
    pq.write_table(pa.table({"text": texts}), file, write_page_checksum=True, **options)
    chunk = pq.read_metadata(file).row_group(0).column(0)
    start, size = chunk.data_page_offset, chunk.total_compressed_size
    content = file.read_bytes()
    _read_column(jvm, file, start, size, piece_bytes)
    for header in list(re.finditer(rb"\x15\0\x15\x06\x15\x06", content))[5:]:
        # The encoding of the values, in front of those of the levels, becomes one that the footer
        # does not have.
        damaged = bytearray(content)
        damaged[header.start() + 1] = 4
        file.write_bytes(damaged)
        with pytest.raises(Py4JJavaError, match="its pages are others than its footer says"):
            _read_column(jvm, file, start, size, piece_bytes)


def _read_column(jvm: Any, file: Path, start: int, size: int, piece_bytes: int) -> None:
    """Let the bridge look at a column's pages, once in pieces and once at the headers alone."""
    hadoop = jvm.org.apache.parquet.hadoop
    path = jvm.org.apache.hadoop.fs.Path(str(file))
    source = hadoop.util.HadoopInputFile.fromPath(path, jvm.org.apache.hadoop.conf.Configuration())
    reader = hadoop.ParquetFileReader.open(source)
    try:
        groups = jvm.scala.jdk.javaapi.CollectionConverters.asScala(reader.getRowGroups()).toSeq()
    finally:
        reader.close()
    stream = jvm.org.apache.spark.sql.tablestore.PageHeaders(source.newStream(), groups)
    try:
        stream.seek(start)
        for begin in range(0, size, piece_bytes):
            count = min(piece_bytes, size - begin)
            stream.readFully(jvm.java.nio.ByteBuffer.allocate(count))
    finally:
        stream.close()
