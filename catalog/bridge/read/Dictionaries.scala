package org.apache.spark.sql.tablestore

import java.io.IOException
import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32

import org.apache.parquet.ParquetReadOptions
import org.apache.parquet.bytes.BytesInput
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData
import org.apache.parquet.io.SeekableInputStream
import org.apache.parquet.schema.PrimitiveType
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName._

/** Checks that dictionaries are undamaged. Readers of rows verify the checksums of all pages; but parquet-java
  * verifies no checksum when it skips a row group because the dictionary does not have a value. */
object Dictionaries {

  /** Fails unless the dictionary's page matches its checksum and has as many values as its header says; the header
    * itself has no checksum. */
  def check(column: ColumnChunkMetaData, stream: SeekableInputStream, options: ParquetReadOptions): Unit = {
    val start = column.getStartingPos
    val (header, length) = PageHeaderBytes.read(stream, start, start + column.getTotalSize)
    val size = header.getCompressed_page_size
    if (size < 0 || size > column.getTotalSize) throw new IOException("a dictionary is longer than its column")
    val page = new Array[Byte](size)
    stream.seek(start + length)
    stream.readFully(page)
    val checksum = new CRC32
    checksum.update(page)
    if (!header.isSetCrc || checksum.getValue.toInt != header.getCrc)
      throw new IOException("the checksum of a dictionary is wrong")
    val values = ByteBuffer.wrap(options.getCodecFactory.getDecompressor(column.getCodec)
        .decompress(BytesInput.from(page), header.getUncompressed_page_size).toInputStream.readAllBytes())
    if (header.getDictionary_page_header.getNum_values != count(values, column.getPrimitiveType))
      throw new IOException("a dictionary has another number of values than its header says")
  }

  private def count(values: ByteBuffer, kind: PrimitiveType): Int = kind.getPrimitiveTypeName match {
    case BINARY =>
      values.order(ByteOrder.LITTLE_ENDIAN)
      var found = 0
      while (values.remaining >= 4) {
        val length = values.getInt()
        values.position(values.position() + length)
        found += 1
      }
      found
    case INT32 | FLOAT => values.remaining / 4
    case INT64 | DOUBLE => values.remaining / 8
    case _ => values.remaining / kind.getTypeLength
  }
}
