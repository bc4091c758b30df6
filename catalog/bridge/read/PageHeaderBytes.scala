package org.apache.spark.sql.tablestore

import java.io.{ByteArrayInputStream, IOException}

import org.apache.parquet.format.{PageHeader, Util}
import org.apache.parquet.io.SeekableInputStream

/** Page headers among the bytes of a file. A header has no greatest length, because the bounds of texts in it may have
  * any, and Thrift would believe a damaged length and allocate as many bytes. So it is first looked where the header
  * ends: it is a Thrift struct in the compact protocol. */
object PageHeaderBytes {

  private val pieceBytes = 512 // most headers are shorter
  private val binary = 8
  private val struct = 12
  private val varintBytesMax = 10

  /** The page header at a place of the file, and its length. Fails if there is none that ends in front of `end`. The
    * first read suffices for a header of the usual length. */
  def read(stream: SeekableInputStream, start: Long, end: Long, usual: Int = 0): (PageHeader, Int) = {
    var known = Array.empty[Byte]
    var header = parse(known, end - start)
    while (header.isEmpty) {
      val more = new Array[Byte](math.min(piece(usual, known.length), end - start - known.length).toInt)
      stream.seek(start + known.length)
      stream.readFully(more)
      known = known ++ more
      header = parse(known, end - start)
    }
    header.get
  }

  /** How many more bytes to look at: as many as make a header of the usual length complete, then twice as many each
    * time. */
  def piece(usual: Int, known: Int): Int = math.max(math.max(usual, known), pieceBytes)

  /** The page header that `bytes` begins with, and its length; none if it goes on behind them. Fails if there is no page
    * header, or none of at most `bytesMax` bytes. */
  def parse(bytes: Array[Byte], bytesMax: Long): Option[(PageHeader, Int)] = {
    val length = lengthOf(bytes, bytesMax)
    if (length < 0) {
      if (bytes.length >= bytesMax) throw new IOException("a page header is not complete")
      None
    } else
      try Some((Util.readPageHeader(new ByteArrayInputStream(bytes, 0, length)), length))
      catch { case _: IOException => noHeader() }
  }

  /** The length of the struct that `bytes` begins with, -1 if it goes on behind them. */
  private def lengthOf(bytes: Array[Byte], bytesMax: Long): Int = {
    var position = 0
    var depth = 1
    while (depth > 0) {
      if (position >= bytes.length) return -1
      val head = bytes(position)
      position += 1
      if (head == 0) depth -= 1
      else if ((head & 0xf0) == 0) noHeader()
      else head & 15 match {
        case 1 | 2 => // a boolean, whose value is in its type
        case `struct` => depth += 1
        case kind @ (4 | 5 | 6 | `binary`) =>
          var value = 0L
          val first = position
          do {
            if (position >= bytes.length) return -1
            if (position - first >= varintBytesMax) noHeader()
            value |= (bytes(position) & 127L) << (7 * (position - first))
            position += 1
          } while (bytes(position - 1) < 0)
          if (kind == binary) {
            if (value < 0 || value >= bytesMax - position) throw new IOException("a page header is not complete")
            if (value >= bytes.length - position) return -1
            position += value.toInt
          }
        case _ => noHeader()
      }
    }
    position
  }

  private def noHeader(): Nothing = throw new IOException("it has no page header where one belongs")
}
