package org.apache.spark.sql.tablestore

import org.apache.arrow.vector.ValueVector
import org.apache.arrow.vector.complex.StructVector
import scala.util.control.NonFatal

import org.apache.spark.TaskContext
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType, PythonException, PythonFunction}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReader, PartitionReaderFactory}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, PythonSQLMetrics}
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}

/** Reads raw splits with Spark's Parquet reader and merge splits in a Python worker; both as column batches, unless
  * the types rule that out for Parquet: then the whole scan is rows. */
case class ManagedReaderFactory(schema: StructType, parquet: ParquetPartitionReaderFactory, python: PythonFunction,
    settings: PythonReader.Settings, snapshot: Option[Long]) extends PartitionReaderFactory {
  override def supportColumnarReads(split: InputPartition): Boolean = parquet.supportColumnarReads(split)

  private def guarded[T](file: PartitionedFile)(open: PartitionedFile => PartitionReader[T]): PartitionReader[T] =
    new GuardedReader(open(file), Errors.unreadable(file.filePath.toString, snapshot, _))

  override def createColumnarReader(split: InputPartition): PartitionReader[ColumnarBatch] = split match {
    case raw: RawSplit => new ConcatReader(raw.partitioned.map(guarded(_)(parquet.buildColumnarReader)))
    case merge: MergeSplit => new PythonReader(schema, python, settings, merge.payload)
  }

  override def createReader(split: InputPartition): PartitionReader[InternalRow] = split match {
    case raw: RawSplit => new ConcatReader(raw.partitioned.map(guarded(_)(parquet.buildReader)))
    case merge: MergeSplit => new RowReader(new PythonReader(schema, python, settings, merge.payload))
  }
}

/** Says of a file that cannot be read which it is, and of which snapshot. */
private class GuardedReader[T](open: => PartitionReader[T], failed: Throwable => Throwable) extends PartitionReader[T] {
  private def guard[R](work: => R): R = try work catch { case NonFatal(error) => throw failed(error) }
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

private class RowReader(batches: PartitionReader[ColumnarBatch]) extends PartitionReader[InternalRow] {
  private var rows: java.util.Iterator[InternalRow] = java.util.Collections.emptyIterator()
  override def next(): Boolean = {
    while (!rows.hasNext) {
      if (!batches.next()) return false
      rows = batches.get().rowIterator()
    }
    true
  }
  override def get(): InternalRow = rows.next()
  override def close(): Unit = batches.close()
}

/** Column batches from a Python worker, which gets one row: the split. */
private class PythonReader(schema: StructType, python: PythonFunction, settings: PythonReader.Settings, payload: Array[Byte])
    extends PartitionReader[ColumnarBatch] {
  private val task = TaskContext.get()
  private val input: InternalRow = new GenericInternalRow(Array[Any](new GenericInternalRow(Array[Any](payload))))
  private val runner = new ArrowPythonRunner(Seq((ChainedPythonFunctions(Seq(python)), 0L)),
    PythonEvalType.SQL_MAP_ARROW_ITER_UDF, Array(Array(0)),
    StructType(Nil).add("split", StructType(Nil).add("payload", BinaryType)), "UTC", false,
    settings.configuration, settings.metrics, None, None)
  private val batches = runner.compute(Iterator(Iterator(input)), task.partitionId(), task)
  private var batch: ColumnarBatch = _

  override def next(): Boolean = try advance() catch {
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

/** A column of the runner's, which reads the next batch into the same vectors: who uses a batch must not free them. */
private class BorrowedColumn(vector: ValueVector) extends ArrowColumnVector(vector) {
  override def close(): Unit = ()
  override def closeIfFreeable(): Unit = ()
}

object PythonReader {
  case class Settings(configuration: Map[String, String], metrics: Map[String, SQLMetric])
  def settings(session: SparkSession): Settings = {
    val context = session.sparkContext
    val descriptions = PythonSQLMetrics
    Settings(ArrowPythonRunner.getPythonRunnerConfMap(session.sessionState.conf),
      descriptions.pythonSizeMetricsDesc.map { case (k, v) => k -> SQLMetrics.createSizeMetric(context, v) } ++
        descriptions.pythonTimingMetricsDesc.map { case (k, v) => k -> SQLMetrics.createTimingMetric(context, v) } ++
        descriptions.pythonOtherMetricsDesc.map { case (k, v) => k -> SQLMetrics.createMetric(context, v) })
  }
}
