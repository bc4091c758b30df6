package org.apache.spark.sql.tablestore

import java.util.{Map => JavaMap}

import scala.annotation.nowarn
import scala.jdk.CollectionConverters._

import net.razorvine.pickle.Unpickler
import org.apache.hadoop.fs.FileSystem
import org.apache.spark.TaskContext
import org.apache.spark.util.{CollectionAccumulator, LongAccumulator}

/** Adds to a Spark task's metrics what its Python worker says at its end that it has read and written: Spark sees only
  * what passes between both. It exists within one task and is never merged with others. */
class WorkerCounts(
    task: TaskContext, isWriter: Boolean, skipped: Option[LongAccumulator]) extends CollectionAccumulator[Array[Byte]] {
  override def add(pickled: Array[Byte]): Unit =
    new Unpickler().loads(pickled) match {
      case Array(number: Number, values: JavaMap[_, _]) if number.intValue == WorkerCounts.number =>
        val counts = values.asScala.collect { case (name, value: Number) => name.toString -> value.longValue }
        report(name => counts.getOrElse(name, 0L))
      case _ => // one of PySpark's own
    }

  private def report(count: String => Long): Unit = {
    val metrics = task.taskMetrics()
    skipped.foreach(_.add(count("records_skipped")))
    metrics.incDiskBytesSpilled(count("spilled_bytes"))
    if (isWriter) {
      metrics.inputMetrics.incBytesRead(count("bytes_read"))
      metrics.inputMetrics.incRecordsRead(count("rows_read"))
      metrics.outputMetrics.setBytesWritten(count("bytes_written"))
      metrics.outputMetrics.setRecordsWritten(count("rows_written"))
    } else WorkerCounts.files.incrementBytesRead(count("bytes_read"))
  }
}

object WorkerCounts {
  private val number = SharedText.name("worker-counts").toInt

  /** Spark takes the bytes that a scan has read from the thread's statistics of file systems, again and again. */
  @nowarn("cat=deprecation") // its successor is not what Spark asks
  private val files = FileSystem.getStatistics("table-store", classOf[FileSystem])
}
