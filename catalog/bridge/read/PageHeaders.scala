package org.apache.spark.sql.tablestore

import java.io.IOException
import java.nio.ByteBuffer
import java.util.{List => JavaList, TreeMap}

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.parquet.bytes.ByteBufferAllocator
import org.apache.parquet.column.Encoding
import org.apache.parquet.format.{PageHeader, PageType}
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ColumnChunkMetaData}
import org.apache.parquet.io.{ParquetFileRange, SeekableInputStream}
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/** A stream that compares the headers of pages with the footer while whole columns are read. Headers have no checksum,
  * and parquet-java believes them: with another size a page is cut off, or another encoding is tried. The footer, which
  * has one, knows the sums of a column's sizes and values, and how many of its pages have which encoding. A column is
  * read as a whole before its first row is returned, so damage is seen in time.
  */
class PageHeaders(stream: SeekableInputStream, groups: Seq[BlockMetaData]) extends SeekableInputStream {
  private val columns = new TreeMap[Long, ColumnPages]
  for (group <- groups; column <- group.getColumns.asScala) columns.put(column.getStartingPos, new ColumnPages(column))

  override def getPos: Long = stream.getPos
  override def seek(position: Long): Unit = stream.seek(position)
  override def read(): Int = stream.read()
  override def read(bytes: Array[Byte], offset: Int, length: Int): Int = stream.read(bytes, offset, length)
  override def read(buffer: ByteBuffer): Int = stream.read(buffer)
  override def readFully(bytes: Array[Byte]): Unit = stream.readFully(bytes)
  override def readFully(bytes: Array[Byte], start: Int, length: Int): Unit = stream.readFully(bytes, start, length)
  override def readFully(buffer: ByteBuffer): Unit = {
    val position = stream.getPos
    val seen = buffer.duplicate()
    stream.readFully(buffer)
    look(position, seen)
  }
  override def readVectoredAvailable(allocator: ByteBufferAllocator): Boolean = stream.readVectoredAvailable(allocator)
  override def readVectored(ranges: JavaList[ParquetFileRange], allocator: ByteBufferAllocator): Unit = {
    stream.readVectored(ranges, allocator)
    for (range <- ranges.asScala)
      range.setDataReadFuture(range.getDataReadFuture.thenApply { (bytes: ByteBuffer) =>
        look(range.getOffset, bytes.duplicate()); bytes
      })
  }
  override def close(): Unit = stream.close()

  /** Shows the bytes at a position to the columns that they belong to. */
  private def look(position: Long, bytes: ByteBuffer): Unit = synchronized {
    val end = position + bytes.remaining
    val first = Option(columns.floorKey(position)).getOrElse(position)
    columns.subMap(first, end).values.forEach(_.look(position, bytes.duplicate()))
  }
}

object PageHeaders {

  /** Compares the headers of some columns' pages with the footer, for a reader that opens the file itself. */
  def check(stream: SeekableInputStream, columns: Iterable[ColumnChunkMetaData]): Unit =
    columns.foreach(new ColumnPages(_).walk(stream))
}

/** The pages of a column in a row group, as far as they have been read. */
private class ColumnPages(column: ColumnChunkMetaData) {
  private val end = column.getStartingPos + column.getTotalSize
  private var header = column.getStartingPos // where the next one begins
  private var begun = Array.empty[Byte] // of a header that goes on in the next bytes
  private var usual = 0 // length of a header; that of the one before
  private var sizeBytes = 0L
  private var values = 0L
  private val encodings = mutable.Map.empty[Encoding, Int].withDefaultValue(0)

  /** Looks at the next bytes of the file; those of other places are passed over. */
  def look(position: Long, bytes: ByteBuffer): Unit = {
    val until = math.min(position + bytes.remaining, end)
    while (next < until && next >= position) {
      val count = math.min(PageHeaderBytes.piece(usual, begun.length), until - next).toInt
      val there = new Array[Byte](count)
      bytes.duplicate().position(bytes.position() + (next - position).toInt).get(there)
      begun = begun ++ there
      PageHeaderBytes.parse(begun, end - header).foreach { case (page, length) => take(page, length) }
    }
  }

  /** Reads the headers alone. */
  def walk(stream: SeekableInputStream): Unit = while (header < end) {
    val (page, length) = PageHeaderBytes.read(stream, header, end, usual)
    take(page, length)
  }

  /** Where the bytes begin that are looked at next. */
  private def next: Long = header + begun.length

  private def take(page: PageHeader, length: Int): Unit = {
    if (page.getCompressed_page_size < 0 || page.getUncompressed_page_size < 0 || !page.isSetCrc) wrong()
    count(page)
    sizeBytes += length + page.getUncompressed_page_size
    header += length + page.getCompressed_page_size
    usual = length
    begun = Array.empty
    if (header >= end) checkSums()
  }

  private def count(page: PageHeader): Unit = page.getType match {
    case PageType.DATA_PAGE if page.isSetData_page_header =>
      val data = page.getData_page_header
      values += data.getNum_values
      encodings(Encoding.valueOf(data.getEncoding.name)) += 1
    case PageType.DATA_PAGE_V2 if page.isSetData_page_header_v2 =>
      val data = page.getData_page_header_v2
      values += data.getNum_values
      encodings(Encoding.valueOf(data.getEncoding.name)) += 1
    case PageType.DICTIONARY_PAGE if page.isSetDictionary_page_header =>
      val isFirst = column.hasDictionaryPage && header == column.getStartingPos
      if (!isFirst || !fits(page.getDictionary_page_header.getNum_values, page.getUncompressed_page_size)) wrong()
    case _ => wrong()
  }

  /** Whether a dictionary of this size has so many values; of texts it is only known how many there are at most. */
  private def fits(values: Long, sizeBytes: Long): Boolean = column.getPrimitiveType.getPrimitiveTypeName match {
    case INT32 | FLOAT => values * 4 == sizeBytes
    case INT64 | DOUBLE => values * 8 == sizeBytes
    case FIXED_LEN_BYTE_ARRAY => values * column.getPrimitiveType.getTypeLength == sizeBytes
    case _ => values >= 0 && values * 4 <= sizeBytes
  }

  private def checkSums(): Unit = {
    val stats = Option(column.getEncodingStats)
    val are = header == end && sizeBytes == column.getTotalUncompressedSize && values == column.getValueCount &&
      stats.forall { known => encodings.forall { case (kind, n) => known.getNumDataPagesEncodedAs(kind) == n } }
    if (!are) wrong()
  }

  private def wrong(): Unit = throw new IOException("its pages are others than its footer says")
}
