package org.apache.spark.sql.tablestore

import java.io.{ByteArrayInputStream, IOException}
import java.nio.{ByteBuffer, ByteOrder}
import java.util.zip.CRC32

import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.format.converter.ParquetMetadataConverter
import org.apache.parquet.format.converter.ParquetMetadataConverter.NO_FILTER
import org.apache.parquet.hadoop.metadata.ParquetMetadata
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.SeekableInputStream

/** Footers of data files, each verified by its guard: Parquet has no checksum of the footer, which decides which
  * rows are skipped. The guard, `TSF1` and a CRC-32, lies in front of the footer; see the data files in
  * storage/FORMAT.md. */
object Footers {
  private val magic = "TSF1".getBytes
  private val guardBytes = 8
  private val endBytes = 8 // the footer's length, and `PAR1`
  private val firstReadBytes = 8 << 10 // small compared with a page of a narrow column

  private case class Footer(metadata: ParquetMetadata, bytes: Int)

  /** Footers that this process has read; a later snapshot has many of the same files, and files never change. In
    * memory a footer takes many times its bytes in the file. */
  private val known = new BoundedCache[String, Footer](math.min(16L << 20, Runtime.getRuntime.maxMemory / 256), _.bytes)

  /** The footer of the file that `stream` reads; fails with the reason if the footer is damaged. */
  def of(path: String, input: HadoopInputFile, stream: SeekableInputStream): ParquetMetadata =
    known.getOrMake(path) {
      val footer = checked(input.getLength, stream)
      val converter =
        new ParquetMetadataConverter(HadoopReadOptions.builder(input.getConfiguration, input.getPath).build())
      Footer(converter.readParquetMetadata(new ByteArrayInputStream(footer), NO_FILTER), footer.length)
    }.metadata

  /** The bytes of the footer and of the file's end after it; a single read if they are at most 8 KiB. */
  private def checked(sizeBytes: Long, stream: SeekableInputStream): Array[Byte] = {
    val first = end(sizeBytes, math.min(sizeBytes, firstReadBytes).toInt, stream)
    if (first.length < endBytes || new String(first.takeRight(4)) != "PAR1")
      throw new IOException("it does not end as a Parquet file does")
    val length = ByteBuffer.wrap(first).order(ByteOrder.LITTLE_ENDIAN).getInt(first.length - endBytes)
    val needed = guardBytes + length.toLong + endBytes
    if (length < 0 || needed > sizeBytes) throw new IOException("its footer is longer than the file")
    val guarded = if (needed > first.length) end(sizeBytes, needed.toInt, stream) else first.takeRight(needed.toInt)
    val checksum = new CRC32
    checksum.update(guarded, guardBytes, guarded.length - guardBytes)
    val guard =
      ByteBuffer.allocate(guardBytes).put(magic).order(ByteOrder.LITTLE_ENDIAN).putInt(checksum.getValue.toInt)
    if (!guarded.startsWith(guard.array)) throw new IOException("the checksum of its footer is wrong")
    guarded.drop(guardBytes)
  }

  private def end(sizeBytes: Long, count: Int, stream: SeekableInputStream): Array[Byte] = {
    val bytes = new Array[Byte](count)
    stream.seek(sizeBytes - count)
    stream.readFully(bytes)
    bytes
  }
}
