package org.apache.spark.sql.tablestore

import java.io.DataInputStream
import java.net.StandardSocketOptions.TCP_NODELAY
import java.util.concurrent.atomic.AtomicBoolean
import java.util.{ArrayList, Base64, HashMap}

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.{SparkEnv, TaskContext}
import org.apache.spark.api.python.{ChainedPythonFunctions, PythonEvalType, PythonWorker, SimplePythonFunction}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.python.{ArrowPythonRunner, PythonSQLMetrics}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch
import org.apache.spark.util.LongAccumulator

/** A task that the planner describes and Python workers run; all scans, writes and compactions in workers use this. */
case class PythonTask(function: SimplePythonFunction, settings: PythonTask.Settings) {

  /** Runs within a Spark task: sends batches of rows to a Python worker, and returns the worker's batches. What a
    * writer has read and written is the task's; of a reader Spark counts the rows itself. */
  def run(batches: Iterator[Iterator[InternalRow]], schema: StructType, isWriter: Boolean): Iterator[ColumnarBatch] = {
    val task = TaskContext.get()
    val runner = new ArrowPythonRunner(
      Seq((ChainedPythonFunctions(Seq(function.copy(accumulator = new WorkerCounts(task, isWriter, settings.skipped)))),
          0L)),
      PythonEvalType.SQL_MAP_ARROW_ITER_UDF,
      Array(Array(0)),
      new StructType().add("rows", schema),
      "UTC",
      false,
      settings.configuration,
      settings.metrics,
      None,
      None
    ) {
      override protected def newWriter(
          env: SparkEnv,
          worker: PythonWorker,
          input: Iterator[Iterator[InternalRow]],
          partition: Int,
          context: TaskContext
      ): Writer = {
        // Spark sends a task in two pieces, of which the second would wait 40 ms for the worker's acknowledgement.
        // A Unix domain socket has neither the wait nor the option.
        if (worker.channel.supportedOptions.contains(TCP_NODELAY))
          worker.channel.setOption(TCP_NODELAY, Boolean.box(true))
        super.newWriter(env, worker, input, partition, context)
      }

      override protected def newReaderIterator(
          stream: DataInputStream,
          writer: Writer,
          startTime: Long,
          env: SparkEnv,
          worker: PythonWorker,
          pid: Option[Int],
          releasedOrClosed: AtomicBoolean,
          context: TaskContext
      ): Iterator[ColumnarBatch] = {
        val answers = super.newReaderIterator(stream, writer, startTime, env, worker, pid, releasedOrClosed, context)
        // Spark ends a worker whose end it has not read, and the next worker has to import everything again. Whoever
        // needs no more rows, as a LIMIT, does not read it; here is read what has arrived.
        context.addTaskCompletionListener[Unit] { _ =>
          var left = PythonTask.unreadBatches
          Try(while (left > 0 && !context.isInterrupted() && stream.available() > 0 && answers.hasNext) {
            answers.next()
            left -= 1
          })
        }
        answers
      }
    }
    runner.compute(batches.map(PythonTask.wrapped), task.partitionId(), task)
  }
}

object PythonTask {

  /** So many batches are read in vain, which takes less than to start a worker. */
  private val unreadBatches = 8

  case class Settings(
      configuration: Map[String, String], metrics: Map[String, SQLMetric], skipped: Option[LongAccumulator])

  def settings(session: SparkSession): Settings = {
    val context = session.sparkContext
    val descriptions = PythonSQLMetrics
    Settings(
      ArrowPythonRunner.getPythonRunnerConfMap(session.sessionState.conf),
      descriptions.pythonSizeMetricsDesc.map { case (k, v) => k -> SQLMetrics.createSizeMetric(context, v) } ++
        descriptions.pythonTimingMetricsDesc.map { case (k, v) => k -> SQLMetrics.createTimingMetric(context, v) } ++
        descriptions.pythonOtherMetricsDesc.map { case (k, v) => k -> SQLMetrics.createMetric(context, v) },
      SkippedRecords.ofThread(context)
    )
  }

  /** The task that the planner's answer describes. */
  def apply(answer: Answers.PythonTask, settings: Settings): PythonTask = PythonTask(
    SimplePythonFunction(
      Base64.getDecoder.decode(answer.function).toSeq,
      new HashMap(answer.environment.asJava),
      new ArrayList[String](),
      answer.python,
      answer.pythonVersion,
      new ArrayList(),
      null
    ),
    settings
  )

  /** Each row as the only column of an outer row, as the workers' protocol requires. */
  private def wrapped(rows: Iterator[InternalRow]): Iterator[InternalRow] = {
    val row = new GenericInternalRow(1)
    rows.map { inner =>
      row.update(0, inner)
      row
    }
  }
}
