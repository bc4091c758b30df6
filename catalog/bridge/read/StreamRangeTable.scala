package org.apache.spark.sql.tablestore

import java.util

import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog.{SupportsRead, Table, TableCapability}
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The rows of a stream of Spark's between two offsets, as a table: the same ones each time. */
class StreamRangeTable(session: classic.SparkSession, known: Answers.StreamRange, override val name: String)
    extends Table with SupportsRead {
  private def opened = SparkStreams.open(session, known, isAhead = false)
  private val scan: Scan = opened.scan
  override def schema(): StructType = scan.readSchema()
  override def capabilities(): util.Set[TableCapability] = util.EnumSet.of(TableCapability.BATCH_READ)

  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = () =>
    new Scan with Batch {
      override def readSchema(): StructType = scan.readSchema()
      override def toBatch: Batch = this
      override def description(): String = s"TableStoreStreamRange $name"
      override def columnarSupportMode(): Scan.ColumnarSupportMode = scan.columnarSupportMode()
      override def supportedCustomMetrics(): Array[CustomMetric] = scan.supportedCustomMetrics()
      override def createReaderFactory(): PartitionReaderFactory = asked(_.createReaderFactory())
      override def planInputPartitions(): Array[InputPartition] = asked { stream =>
        val start = known.start.map(stream.deserializeOffset).get
        stream.planInputPartitions(start, known.end.map(stream.deserializeOffset).getOrElse(start))
      }
    }

  private def asked[T](question: MicroBatchStream => T): T = {
    val one = opened
    one.synchronized(session.withActive(question(one.stream)))
  }
}
