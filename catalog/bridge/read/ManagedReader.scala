package org.apache.spark.sql.tablestore

import org.apache.arrow.vector.ValueVector
import org.apache.arrow.vector.complex.StructVector
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.api.python.PythonException
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.types.{BinaryType, StructType, TimeType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/** Finds a split's live rows by merging its keys; `atFirst`: whether that pays when a split is read the first time. */
case class LiveRowsTask(task: PythonTask, atFirst: Boolean)

/** Reads raw splits with Spark's Parquet reader. Merge splits are read by it, too, if their live rows are known or
  * worth finding; else by a Python worker. All splits yield column batches, unless Spark's Parquet reader does not
  * support that for the columns' types: then the whole scan yields rows. */
case class ManagedReaderFactory(schema: StructType, parquet: ParquetPartitionReaderFactory,
    python: Option[PythonTask], live: Option[LiveRowsTask], snapshot: Option[Long])
    extends PartitionReaderFactory {
  override def supportColumnarReads(split: InputPartition): Boolean = parquet.supportColumnarReads(split)

  override def createColumnarReader(split: InputPartition): PartitionReader[ColumnarBatch] = {
    val counts = new ReadCounts
    new CountedReader(
      split.asInstanceOf[BucketSplit] match {
        case raw: RawSplit => opened(raw.files.iterator, counts)(_.path)(new DataFiles(parquet).batches)
        case merge: MergeSplit => liveRows(merge, counts) match {
            case Some(rows) if schema.isEmpty => new LengthReader(rows.map(_.count).sum)
            case Some(files) =>
              opened(files.iterator, counts)(_.path)(new DataFiles(parquet).batches)
            case None => merged(merge, counts)
          }
      },
      counts
    )
  }

  override def createReader(split: InputPartition): PartitionReader[InternalRow] = {
    val counts = new ReadCounts
    new CountedReader(
      split.asInstanceOf[BucketSplit] match {
        case raw: RawSplit => opened(raw.files.iterator, counts)(_.path)(new DataFiles(parquet).rows)
        case merge: MergeSplit => new RowReader(merged(merge, counts), schema)
      },
      counts
    )
  }

  private def opened[F, T](files: Iterator[F], counts: ReadCounts)(path: F => String)(open: F => PartitionReader[T]) =
    new ConcatReader(files.map { file =>
      counts.files += 1; new GuardedReader(open(file), Errors.unreadable(path(file), snapshot, _))
    })

  private def merged(split: MergeSplit, counts: ReadCounts): PartitionReader[ColumnarBatch] = {
    counts.rowMerges += 1
    new PythonReader(schema, python.get, split.payload)
  }

  private def liveRows(split: MergeSplit, counts: ReadCounts): Option[Array[LiveFile]] = for {
    name <- split.live
    task <- live
    rows <- LiveRows.get(name).orElse(Option.when(task.atFirst) {
      counts.keyMerges += 1
      val merged = new PythonReader(LiveRows.schema, task.task, split.payload)
      val rows = LiveRows.byFile(Iterator.continually(merged).takeWhile(_.next())
          .flatMap(_.get().rowIterator().asScala.map(LiveRows.from)).toSeq)
      LiveRows.put(name, rows)
      rows
    })
  } yield rows
}

/** Rows without columns, as a COUNT(*) needs them. */
private class LengthReader(count: Long) extends PartitionReader[ColumnarBatch] {
  private var left = count
  private var rows = 0
  override def next(): Boolean = {
    rows = math.min(left, 1L << 20).toInt
    left -= rows
    rows > 0
  }
  override def get(): ColumnarBatch = new ColumnarBatch(Array.empty, rows)
  override def close(): Unit = ()
}

/** Adds to the error of an unreadable file which file it is, and of which snapshot. */
private class GuardedReader[T](open: => PartitionReader[T], failed: Throwable => Throwable) extends PartitionReader[T] {
  private def guard[R](work: => R): R =
    try work
    catch { case NonFatal(error) => throw failed(error) }
  private val reader = guard(open)
  override def next(): Boolean = guard(reader.next())
  override def get(): T = guard(reader.get())
  override def close(): Unit = reader.close()
}

private class ConcatReader[T](readers: Iterator[PartitionReader[T]]) extends PartitionReader[T] {
  private var current: PartitionReader[T] = _
  override def next(): Boolean = {
    while (current == null || !current.next()) {
      close()
      if (!readers.hasNext) return false
      current = readers.next()
    }
    true
  }
  override def get(): T = current.get()
  override def close(): Unit = if (current != null) { current.close(); current = null }
}

/** The rows of batches. Those with a TIME are copied: the row of a batch does not know the type (`ColumnarRow.get`),
  * and expressions that Spark interprets ask it for the fields of a struct. */
private class RowReader(batches: PartitionReader[ColumnarBatch], schema: StructType)
    extends PartitionReader[InternalRow] {
  private val known: InternalRow => InternalRow =
    if (schema.existsRecursively(_.isInstanceOf[TimeType])) UnsafeProjection.create(schema) else identity
  private var rows: java.util.Iterator[InternalRow] = java.util.Collections.emptyIterator()
  override def next(): Boolean = {
    while (!rows.hasNext) {
      if (!batches.next()) return false
      rows = batches.get().rowIterator()
    }
    true
  }
  override def get(): InternalRow = known(rows.next())
  override def close(): Unit = batches.close()
}

/** Column batches from a Python worker, which gets one row: the split. */
private class PythonReader(schema: StructType, python: PythonTask, payload: Array[Byte])
    extends PartitionReader[ColumnarBatch] {
  private val batches =
    python.run(Iterator(Iterator(InternalRow(payload))), new StructType().add("payload", BinaryType), isWriter = false)
  private var batch: ColumnarBatch = _

  override def next(): Boolean =
    try advance()
    catch {
      case error: PythonException => throw Errors.fromWorker(error)
    }
  private def advance(): Boolean = batches.hasNext && {
    val answer = batches.next()
    val struct = answer.column(0).asInstanceOf[ArrowColumnVector].getValueVector.asInstanceOf[StructVector]
    val columns = schema.indices.map(i => new BorrowedColumn(struct.getChildByOrdinal(i).asInstanceOf[ValueVector]))
    batch = new ColumnarBatch(columns.toArray[ColumnVector], answer.numRows())
    true
  }
  override def get(): ColumnarBatch = batch
  override def close(): Unit = ()
}

/** A column of the runner. The runner loads the next batch into the same vectors, so nobody else may free them. */
private class BorrowedColumn(vector: ValueVector) extends ArrowColumnVector(vector) {
  override def close(): Unit = ()
  override def closeIfFreeable(): Unit = ()
}
