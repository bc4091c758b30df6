package org.apache.spark.sql.tablestore

import org.apache.spark.sql.connector.metric.{CustomMetric, CustomSumMetric, CustomTaskMetric}
import org.apache.spark.sql.connector.read.PartitionReader

/** What one task did to read a split; Spark shows the sum over all tasks at the scan, in its plans and its UI. */
class ReadCounts {
  var files, keyMerges, rowMerges = 0L
  def values: Array[CustomTaskMetric] =
    Array(Count("files", files), Count("keyMerges", keyMerges), Count("rowMerges", rowMerges))
  private case class Count(override val name: String, override val value: Long) extends CustomTaskMetric
}

object ReadCounts {
  val metrics: Array[CustomMetric] = Array(new FilesRead, new KeyMerges, new RowMerges)
}

// Spark instantiates these classes by name, without arguments.
class FilesRead extends CustomSumMetric {
  override def name(): String = "files"
  override def description(): String = "files read by Spark"
}
class KeyMerges extends CustomSumMetric {
  override def name(): String = "keyMerges"
  override def description(): String = "splits whose keys were merged to find their live rows"
}
class RowMerges extends CustomSumMetric {
  override def name(): String = "rowMerges"
  override def description(): String = "splits whose rows were merged by a Python worker"
}

class CountedReader[T](reader: PartitionReader[T], counts: ReadCounts) extends PartitionReader[T] {
  override def next(): Boolean = reader.next()
  override def get(): T = reader.get()
  override def close(): Unit = reader.close()
  override def currentMetricsValues(): Array[CustomTaskMetric] = counts.values
}
