package org.apache.spark.sql.tablestore

import org.apache.spark.TaskContext
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType, PythonFunction}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{GenericInternalRow, UnsafeRow}
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.python.ArrowPythonRunner
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}
import org.json4s._

/** Rows on their way to Python workers that write them.
  *
  * As `mapInArrow`, but that asks Arrow for the bytes of all columns after each row, to keep a batch below its limit:
  * a third of what it takes to hand over a row. A row knows its own size. */
object PythonWriters {
  def answers(session: classic.SparkSession, frame: classic.DataFrame, python: PythonFunction): Array[JValue] = {
    val conf = session.sessionState.conf
    val rowsMax = if (conf.arrowMaxRecordsPerBatch > 0) conf.arrowMaxRecordsPerBatch else Int.MaxValue
    val bytesMax = if (conf.arrowMaxBytesPerBatch > 0) conf.arrowMaxBytesPerBatch else Long.MaxValue
    val task = new WriterTask(StructType(Nil).add("rows", frame.schema), python, PythonReader.settings(session),
      rowsMax, bytesMax)
    SQLExecution.withNewExecutionId(frame.queryExecution) {
      frame.queryExecution.toRdd.mapPartitionsInternal(task.run).collect().map { case (message, error) =>
        JArray(List(text(message), text(error)))
      }
    }
  }
  private def text(value: String): JValue = if (value == null) JNull else JString(value)
}

private class WriterTask(schema: StructType, python: PythonFunction, settings: PythonReader.Settings, rowsMax: Int,
    bytesMax: Long)
    extends Serializable {
  def run(rows: Iterator[InternalRow]): Iterator[(String, String)] = {
    val task = TaskContext.get()
    val runner = new ArrowPythonRunner(
      Seq((ChainedPythonFunctions(Seq(python)), 0L)),
      PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
      Array(Array(0)),
      schema,
      "UTC",
      false,
      settings.configuration,
      settings.metrics,
      None,
      None
    )
    runner.compute(new RowBatches(rows, rowsMax, bytesMax), task.partitionId(), task).flatMap(answers)
  }
  private def answers(batch: ColumnarBatch): Iterator[(String, String)] = {
    val struct = batch.column(0).asInstanceOf[ArrowColumnVector]
    val read = (column: Int, row: Int) =>
      if (struct.getChild(column).isNullAt(row)) null else struct.getChild(column).getUTF8String(row).toString
    Iterator.range(0, batch.numRows).map(row => (read(0, row), read(1, row)))
  }
}

/** Rows in batches that follow each other, each row as the only column of another, which the workers' protocol wants. */
private class RowBatches(
    rows: Iterator[InternalRow], rowsMax: Int, bytesMax: Long) extends Iterator[Iterator[InternalRow]] {
  private val wrapped = new GenericInternalRow(1)
  override def hasNext: Boolean = rows.hasNext
  override def next(): Iterator[InternalRow] = new Iterator[InternalRow] {
    private var count = 0
    private var bytes = 0L
    override def hasNext: Boolean = count < rowsMax && bytes < bytesMax && rows.hasNext
    override def next(): InternalRow = {
      val row = rows.next()
      count += 1
      bytes += (row match { case known: UnsafeRow => known.getSizeInBytes; case _ => bytesMax / 1000 })
      wrapped.update(0, row)
      wrapped
    }
  }
}
