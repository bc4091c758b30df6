package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.TaskContext
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types.{BinaryType, StructType}
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch}
import org.json4s._
import org.json4s.jackson.JsonMethods.compact

/** Runs Python workers that write files, and answer with commit messages or an error.
  *
  * Works like `mapInArrow`. To limit a batch's bytes, `mapInArrow` asks Arrow for the size of all columns after each
  * row, which is a third of the cost of passing the row; here the rows' own sizes are added. */
object PythonWriters {

  /** The answers of the planner's task for the rows of a frame: a JSON array of its rows of three texts or nulls. The
    * jobs bear the name of the statement. */
  def answers(session: classic.SparkSession, frame: classic.DataFrame, task: String, statement: String): String = {
    val conf = session.sessionState.conf
    val rowsMax = if (conf.arrowMaxRecordsPerBatch > 0) conf.arrowMaxRecordsPerBatch else Int.MaxValue
    val bytesMax = if (conf.arrowMaxBytesPerBatch > 0) conf.arrowMaxBytesPerBatch else Long.MaxValue
    val writers = new WriterTask(
      frame.schema, PythonTask(new Answers.PythonTask(Json.parse(task)), PythonTask.settings(session)), rowsMax,
      bytesMax)
    JobNames.within(session.sparkContext, statement) {
      SQLExecution.withNewExecutionId(frame.queryExecution) {
        compact(JArray(frame.queryExecution.toRdd.mapPartitionsInternal(writers.run).collect()
              .map(row => JArray(row.map(text).toList)).toList))
      }
    }
  }
  private def text(value: String): JValue = if (value == null) JNull else JString(value)

  /** The answers for pieces of work that the planner has prepared; each piece goes to a Spark task of its own. */
  def answersTo(
      session: classic.SparkSession, work: java.util.List[Array[Byte]], task: String, statement: String): String = {
    val rows = session.sparkContext.parallelize(work.asScala.toSeq, work.size).map(InternalRow(_))
    answers(session, session.internalCreateDataFrame(rows, new StructType().add("work", BinaryType)), task, statement)
  }
}

private class WriterTask(schema: StructType, task: PythonTask, rowsMax: Int, bytesMax: Long) extends Serializable {
  def run(rows: Iterator[InternalRow]): Iterator[Array[String]] =
    task.run(new RowBatches(rows, rowsMax, bytesMax), schema, isWriter = true).flatMap(answers)
  private def answers(batch: ColumnarBatch): Iterator[Array[String]] = {
    val struct = batch.column(0).asInstanceOf[ArrowColumnVector]
    Iterator.range(0, batch.numRows).map(row =>
      Array.tabulate(3) { column =>
        val texts = struct.getChild(column)
        if (texts.isNullAt(row)) null else texts.getUTF8String(row).toString
      })
  }
}

/** Consecutive batches of the rows, which count as written while the worker is still at work. */
private class RowBatches(
    rows: Iterator[InternalRow], rowsMax: Int, bytesMax: Long) extends Iterator[Iterator[InternalRow]] {
  private val output = TaskContext.get().taskMetrics().outputMetrics
  private var passed = 0L
  override def hasNext: Boolean = rows.hasNext
  override def next(): Iterator[InternalRow] = new Iterator[InternalRow] {
    output.setRecordsWritten(passed)
    private var count = 0
    private var bytes = 0L
    override def hasNext: Boolean = count < rowsMax && bytes < bytesMax && rows.hasNext
    override def next(): InternalRow = {
      val row = rows.next()
      count += 1
      passed += 1
      bytes += (row match { case known: UnsafeRow => known.getSizeInBytes; case _ => bytesMax / 1000 })
      row
    }
  }
}
