package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.hadoop.mapred.{FileSplit, JobConf}
import org.apache.hadoop.mapreduce.{JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.filter2.compat.FilterCompat
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.SeekableInputStream

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFilters, VectorizedParquetRecordReader}
import org.apache.spark.sql.execution.datasources.v2.EmptyPartitionReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Reads live rows with Spark's Parquet reader as `parquet` would set it up, except that the row groups are named: those
  * that have live rows and that the conditions do not rule out. So one reader goes over all of a file, and it is known
  * whose rows come. Columns of our files need no other calendar and no other time zone. */
class LiveRowGroups(parquet: ParquetPartitionReaderFactory) {
  private val conf = new JobConf(parquet.broadcastedConf.value.value)
  private val context = new TaskAttemptContextImpl(conf, new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0))
  private val settings = SQLConf.get
  private val rebase = RebaseSpec(LegacyBehaviorPolicy.CORRECTED)

  def open(file: LiveFile): PartitionReader[ColumnarBatch] = {
    val input = HadoopInputFile.fromPath(SparkPath.fromPathString(file.path).toPath, conf)
    val stream = input.newStream()
    try {
      val footer = LiveFile.footer(file.path)(
        withReader(ParquetFileReader.open(input, HadoopReadOptions.builder(conf, input.getPath).build(), stream))(_.getFooter))
      val byFirstRow = file.groups.map(group => group.firstRow -> group).toMap
      val live = footer.getBlocks.asScala.filter(block => byFirstRow.contains(block.getRowIndexOffset))
      if (live.size < byFirstRow.size) throw new IllegalStateException("it has other row groups than when its keys were read")
      val chosen = possible(input, new ParquetMetadata(footer.getFileMetaData, live.asJava), stream)
      if (chosen.isEmpty) { stream.close(); new EmptyPartitionReader[ColumnarBatch] }
      else {
        val reader = new VectorizedParquetRecordReader(null, rebase.mode.toString, rebase.timeZone, rebase.mode.toString,
          rebase.timeZone, settings.offHeapColumnVectorEnabled, settings.parquetVectorizedReaderBatchSize)
        val batches = new BatchReader(reader)
        try {
          reader.initialize(new FileSplit(input.getPath, 0, input.getLength, Array.empty[String]), context,
            Some(input), Some(stream), Some(new ParquetMetadata(footer.getFileMetaData, chosen.asJava)))
          reader.initBatch(StructType(Nil), InternalRow.empty)
          reader.enableReturningBatches()
        } catch { case error: Throwable => batches.close(); throw error }
        new LiveRowsReader(batches, chosen.map(block => byFirstRow(block.getRowIndexOffset)).iterator)
      }
    } catch { case error: Throwable => stream.close(); throw error }
  }

  /** The row groups that bounds, dictionaries and Bloom filters leave. */
  private def possible(input: HadoopInputFile, footer: ParquetMetadata, stream: SeekableInputStream): Seq[BlockMetaData] = {
    val condition = if (!settings.parquetFilterPushDown) None else {
      val filters = new ParquetFilters(footer.getFileMetaData.getSchema, settings.parquetFilterPushDownDate,
        settings.parquetFilterPushDownTimestamp, settings.parquetFilterPushDownDecimal,
        settings.parquetFilterPushDownStringPredicate, settings.parquetFilterPushDownInFilterThreshold,
        settings.caseSensitiveAnalysis, rebase)
      parquet.filters.flatMap(filters.createFilter(_)).reduceOption(FilterApi.and)
    }
    condition.fold(footer.getBlocks.asScala.toSeq) { condition =>
      val options = HadoopReadOptions.builder(conf, input.getPath).withRecordFilter(FilterCompat.get(condition, null))
      withReader(new ParquetFileReader(input, footer, options.build(), stream))(_.getRowGroups.asScala.toSeq)
    }
  }

  /** Its stream stays open. */
  private def withReader[T](reader: ParquetFileReader)(use: ParquetFileReader => T): T =
    try use(reader) finally { reader.detachFileInputStream(); reader.close() }
}

private class BatchReader(reader: VectorizedParquetRecordReader) extends PartitionReader[ColumnarBatch] {
  override def next(): Boolean = reader.nextKeyValue()
  override def get(): ColumnarBatch = reader.getCurrentValue.asInstanceOf[ColumnarBatch]
  override def close(): Unit = reader.close()
}
