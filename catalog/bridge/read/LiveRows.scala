package org.apache.spark.sql.tablestore

import java.nio.{ByteBuffer, ByteOrder}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.types.{BinaryType, Decimal, LongType, StringType, StructType}
import org.apache.spark.sql.vectorized.{ColumnVector, ColumnarArray, ColumnarBatch, ColumnarMap}
import org.apache.spark.unsafe.types.{BinaryView, CalendarInterval, UTF8String}

/** The live rows of one row group: bit i tells whether its row i is live. The row group has `rows` rows, of which the
  * first is row `firstRow` of the file; `count` of them are live. */
class LiveRows(val path: String, val firstRow: Long, val rows: Long, val count: Long, words: Array[Long]) {
  def sizeBytes: Long = 8L * words.length + 200

  /** How many of the `length` rows from `first` on are live; their positions relative to `first` go to `places`. */
  def select(first: Long, length: Int, places: Array[Int]): Int = {
    val end = math.min(first + length, 64L * words.length)
    var found = 0
    var row = first & ~63L
    while (row < end) {
      var word = words((row >> 6).toInt)
      if (row < first) word &= -1L << first
      if (end - row < 64) word &= -1L >>> (row - end)
      val place = (row - first).toInt
      while (word != 0) {
        places(found) = place + java.lang.Long.numberOfTrailingZeros(word)
        found += 1
        word &= word - 1
      }
      row += 64
    }
    found
  }
}

object LiveRows {

  /** The columns of the workers' answer. */
  val schema: StructType = new StructType().add("path", StringType).add("firstRow", LongType).add("rows", LongType)
    .add("count", LongType).add("bits", BinaryType)

  def from(row: InternalRow): LiveRows = {
    val bits = row.getBinary(4)
    val words = new Array[Long](bits.length / 8)
    ByteBuffer.wrap(bits).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer.get(words)
    new LiveRows(row.getUTF8String(0).toString, row.getLong(1), row.getLong(2), row.getLong(3), words)
  }

  /** Row groups by file, in the order in which the files first appear. */
  def byFile(groups: Seq[LiveRows]): Array[LiveFile] = {
    val ofFile = groups.groupBy(_.path)
    groups.map(_.path).distinct.map(path => new LiveFile(path, ofFile(path))).toArray
  }

  /** The live rows of splits that this process has read, a bit for each stored row; the least recently used are evicted
    * first. They are never stale, because a split's name depends on its files, and files never change. */
  private val known = new BoundedCache[String, Array[LiveFile]](math.min(256L << 20, Runtime.getRuntime.maxMemory / 32),
    files => 200 + files.map(_.sizeBytes).sum)

  def get(split: String): Option[Array[LiveFile]] = known.get(split)
  def put(split: String, rows: Array[LiveFile]): Unit = known.put(split, rows)
}

/** The row groups of a file that have live rows. */
class LiveFile(val path: String, val groups: Seq[LiveRows]) {
  def count: Long = groups.map(_.count).sum
  def sizeBytes: Long = groups.map(_.sizeBytes).sum + 200
}

/** Reads the live rows of a file; `file` yields all rows of `groups`, which are the row groups with live rows. */
class LiveRowsReader(
    file: PartitionReader[ColumnarBatch], groups: Iterator[LiveRows]) extends PartitionReader[ColumnarBatch] {
  private var group = groups.next()
  private var row = 0L
  private var places = new Array[Int](0)
  private var of: ColumnarBatch = _
  private var selected: Array[SelectedColumn] = _
  private var answer: ColumnarBatch = _

  override def next(): Boolean = {
    while (file.next()) {
      val batch = file.get()
      if (places.length < batch.numRows) places = new Array[Int](batch.numRows)
      if (row == group.rows && groups.hasNext) { group = groups.next(); row = 0 }
      val found = group.select(row, batch.numRows, places)
      row += batch.numRows
      if (found == batch.numRows) { answer = batch; return true }
      if (found > 0) {
        if (batch ne of) {
          of = batch
          selected = Array.tabulate(batch.numCols)(i => new SelectedColumn(batch.column(i)))
        }
        selected.foreach(_.select(places, found))
        answer = new ColumnarBatch(selected.toArray[ColumnVector], found)
        return true
      }
    }
    if (row != group.rows || groups.hasNext)
      throw new IllegalStateException(s"row group at row ${group.firstRow} has $row rows and not ${group.rows}")
    false
  }
  override def get(): ColumnarBatch = answer
  override def close(): Unit = file.close()
}

/** Some rows of a column; closing it does nothing, because consumers of a batch must not free the reader's columns. */
class SelectedColumn(column: ColumnVector) extends ColumnVector(column.dataType) {
  private var places: Array[Int] = _
  private var count = 0
  private var mayBeNull = true
  private val children = new java.util.HashMap[Integer, SelectedColumn]

  def select(rows: Array[Int], number: Int): Unit = {
    places = rows
    count = number
    mayBeNull = column.hasNull
    children.values.asScala.foreach(_.select(rows, number))
  }
  override def close(): Unit = ()
  override def closeIfFreeable(): Unit = ()
  override def hasNull: Boolean = mayBeNull
  override def numNulls(): Int = if (mayBeNull) (0 until count).count(isNullAt) else 0
  override def isNullAt(row: Int): Boolean = mayBeNull && column.isNullAt(places(row))
  override def getBoolean(row: Int): Boolean = column.getBoolean(places(row))
  override def getByte(row: Int): Byte = column.getByte(places(row))
  override def getShort(row: Int): Short = column.getShort(places(row))
  override def getInt(row: Int): Int = column.getInt(places(row))
  override def getLong(row: Int): Long = column.getLong(places(row))
  override def getFloat(row: Int): Float = column.getFloat(places(row))
  override def getDouble(row: Int): Double = column.getDouble(places(row))
  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    column.getDecimal(places(row), precision, scale)
  override def getUTF8String(row: Int): UTF8String = column.getUTF8String(places(row))
  override def getBinary(row: Int): Array[Byte] = column.getBinary(places(row))
  override def getBinaryView(row: Int): BinaryView = column.getBinaryView(places(row))
  override def getInterval(row: Int): CalendarInterval = column.getInterval(places(row))
  override def getArray(row: Int): ColumnarArray = column.getArray(places(row))
  override def getMap(row: Int): ColumnarMap = column.getMap(places(row))

  /** A field of a struct, of which the same rows are selected as of the struct. */
  override def getChild(ordinal: Int): ColumnVector = children.computeIfAbsent(ordinal,
    i => {
      val child = new SelectedColumn(column.getChild(i))
      child.select(places, count)
      child
    })
}
