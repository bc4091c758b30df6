package org.apache.spark.sql.tablestore

import org.apache.spark.SparkContext
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}

/** What a write has done, which Spark shows at the write's node in its plan and its UI. */
object WriteMetrics {
  def of(context: SparkContext): Map[String, SQLMetric] = Map(
    "rows" -> SQLMetrics.createMetric(context, "rows written"),
    "deletes" -> SQLMetrics.createMetric(context, "of these, rows that delete another"),
    "files" -> SQLMetrics.createMetric(context, "files written"),
    "sizeBytes" -> SQLMetrics.createSizeMetric(context, "size of the files"),
    "spilledBytes" -> SQLMetrics.createSizeMetric(context, "spilled rows"),
    "sort" -> SQLMetrics.createNanoTimingMetric(context, "time of sorting, all writers"),
    "encode" -> SQLMetrics.createNanoTimingMetric(context, "time of encoding and writing files, all writers"),
    "commit" -> SQLMetrics.createNanoTimingMetric(context, "time of the commit"),
    "compact" -> SQLMetrics.createNanoTimingMetric(context, "time of the compaction behind it")
  )

  def post(context: SparkContext, metrics: Map[String, SQLMetric], written: Answers.WrittenRows): Unit = {
    metrics("rows").set(written.rows)
    metrics("deletes").set(written.deletes)
    metrics("files").set(written.files)
    metrics("sizeBytes").set(written.sizeBytes)
    metrics("spilledBytes").set(written.spilledBytes)
    metrics("sort").set(written.sortNs)
    metrics("encode").set(written.encodeNs)
    metrics("commit").set(written.commitNs)
    metrics("compact").set(written.compactNs)
    SQLMetrics.postDriverMetricUpdates(
      context, context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY), metrics.values.toSeq)
  }
}
