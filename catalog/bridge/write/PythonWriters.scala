package org.apache.spark.sql.tablestore

import scala.collection.mutable
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

/** Python workers that write the rows of a frame into files, and answer with commit messages or an error.
  *
  * Works like `mapInArrow`. To limit a batch's bytes, `mapInArrow` asks Arrow for the size of all columns after each
  * row, which is a third of the cost of passing the row; here the rows' own sizes are added. */
class PythonWriters private (frame: classic.DataFrame, task: PythonTask, statement: String) {
  private val session = frame.sparkSession
  private val ended = mutable.TreeMap.empty[Int, Array[Array[String]]]

  /** Runs the jobs, which bear the name of the statement. */
  def run(): Unit = {
    val conf = session.sessionState.conf
    val rowsMax = if (conf.arrowMaxRecordsPerBatch > 0) conf.arrowMaxRecordsPerBatch else Int.MaxValue
    val bytesMax = if (conf.arrowMaxBytesPerBatch > 0) conf.arrowMaxBytesPerBatch else Long.MaxValue
    val writers = new WriterTask(frame.schema, task, rowsMax, bytesMax)
    JobNames.within(session.sparkContext, statement) {
      SQLExecution.withNewExecutionId(frame.queryExecution) {
        session.sparkContext.runJob(
          frame.queryExecution.toRdd.mapPartitionsInternal(writers.run),
          (answers: Iterator[Array[String]]) => answers.toArray,
          (partition: Int, answers: Array[Array[String]]) => synchronized(ended(partition) = answers)
        )
      }
    }
  }

  /** What the workers that ended have answered, also if a job failed: a JSON array of rows of three texts or nulls. */
  def answers(): String =
    synchronized(compact(JArray(ended.values.flatten.map(row => JArray(row.map(text).toList)).toList)))

  private def text(value: String): JValue = if (value == null) JNull else JString(value)
}

object PythonWriters {

  /** Workers that run the planner's task. */
  def of(frame: classic.DataFrame, task: String, statement: String): PythonWriters = {
    val settings = PythonTask.settings(frame.sparkSession)
    new PythonWriters(frame, PythonTask(new Answers.PythonTask(Json.parse(task)), settings), statement)
  }

  /** Workers for pieces of work that the planner has prepared; each piece goes to a Spark task of its own. */
  def on(
      session: classic.SparkSession, work: java.util.List[Array[Byte]], task: String,
      statement: String): PythonWriters = {
    val rows = session.sparkContext.parallelize(work.asScala.toSeq, work.size).map(InternalRow(_))
    of(session.internalCreateDataFrame(rows, new StructType().add("work", BinaryType)), task, statement)
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

/** Consecutive batches of the rows, which count as written while the worker is still at work. The last one is empty, and
  * does not come if the query or another task failed: to a worker, the end of a stream is the same. */
private class RowBatches(
    rows: Iterator[InternalRow], rowsMax: Int, bytesMax: Long) extends Iterator[Iterator[InternalRow]] {
  private val context = TaskContext.get()
  private val output = context.taskMetrics().outputMetrics
  private var passed = 0L
  private var isEnded = false
  override def hasNext: Boolean = !isEnded
  override def next(): Iterator[InternalRow] = {
    isEnded = !rows.hasNext
    if (isEnded) context.killTaskIfInterrupted()
    new Iterator[InternalRow] {
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
}
