package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.hadoop.mapred.{FileSplit, JobConf}
import org.apache.hadoop.mapreduce.{JobID, TaskAttemptID, TaskID, TaskType}
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl
import org.apache.parquet.HadoopReadOptions
import org.apache.parquet.filter2.compat.{FilterCompat, RowGroupFilter}
import org.apache.parquet.filter2.compat.RowGroupFilter.FilterLevel
import org.apache.parquet.filter2.predicate.FilterApi
import org.apache.parquet.hadoop.ParquetFileReader
import org.apache.parquet.hadoop.metadata.{BlockMetaData, ParquetMetadata}
import org.apache.parquet.hadoop.util.HadoopInputFile
import org.apache.parquet.io.SeekableInputStream

import org.apache.spark.paths.SparkPath
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.RebaseDateTime.RebaseSpec
import org.apache.spark.sql.connector.read.PartitionReader
import org.apache.spark.sql.execution.datasources.parquet.{ParquetFilters, ParquetUtils, VectorizedParquetRecordReader}
import org.apache.spark.sql.execution.datasources.v2.EmptyPartitionReader
import org.apache.spark.sql.execution.datasources.v2.parquet.ParquetPartitionReaderFactory
import org.apache.spark.sql.internal.{LegacyBehaviorPolicy, SQLConf}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** Reads data files with Spark's Parquet reader, set up as `parquet` would do it, except that the reader is given
  * the footer, which is checked and cached, and the row groups that the conditions do not rule out. So a single
  * reader covers all live rows of a file, too, and it is known from which row group each row comes. Our files need
  * no conversion of calendars or time zones. */
class DataFiles(parquet: ParquetPartitionReaderFactory) {
  private val conf = new JobConf(parquet.broadcastedConf.value.value)
  private val context = new TaskAttemptContextImpl(conf, new TaskAttemptID(new TaskID(new JobID(), TaskType.MAP, 0), 0))
  private val settings = SQLConf.get
  private val rebase = RebaseSpec(LegacyBehaviorPolicy.CORRECTED)

  /** The rows of the row groups whose middle lies in the range. */
  def batches(file: FileRange): PartitionReader[ColumnarBatch] =
    opened(file.path, _.filter(isIn(file, _)))((batches, _) => batches)

  private def isIn(file: FileRange, group: BlockMetaData): Boolean = {
    val middle = group.getStartingPos + group.getCompressedSize / 2
    middle >= file.start && middle < file.start + file.length
  }

  /** The live rows of a file. */
  def batches(file: LiveFile): PartitionReader[ColumnarBatch] = {
    val byFirstRow = file.groups.map(group => group.firstRow -> group).toMap
    opened(
      file.path,
      groups => {
        val live = groups.filter(group => byFirstRow.contains(group.getRowIndexOffset))
        if (live.size < byFirstRow.size)
          throw new IllegalStateException("it has other row groups than when its keys were read")
        live
      }
    )((batches, chosen) =>
      new LiveRowsReader(batches, chosen.map(group => byFirstRow(group.getRowIndexOffset)).iterator))
  }

  /** The rows of the range one by one, also for columns whose types column batches do not support. */
  def rows(file: FileRange): PartitionReader[InternalRow] =
    if (ParquetUtils.isBatchReadSupportedForSchema(settings, parquet.readDataSchema))
      new RowReader(batches(file), parquet.readDataSchema)
    else {
      // Footer and headers are only checked here; Parquet's own reader reads them again.
      withStream(file.path) { (input, stream) =>
        val groups = Footers.of(file.path, input, stream).getBlocks.asScala.filter(isIn(file, _))
        val asked = parquet.readDataSchema.fieldNames.toSet
        PageHeaders.check(
          stream,
          groups.flatMap(_.getColumns.asScala).filter(column => asked(column.getPath.toArray.head)))
        stream.close()
      }
      parquet.buildReader(file.toSpark)
    }

  /** The result of `read` for the batches of those row groups from `of` that the conditions do not rule out. */
  private def opened(path: String, of: Seq[BlockMetaData] => Seq[BlockMetaData])(
      read: (PartitionReader[ColumnarBatch],
          Seq[BlockMetaData]) => PartitionReader[ColumnarBatch]): PartitionReader[ColumnarBatch] =
    withStream(path) { (input, stream) =>
      val footer = Footers.of(path, input, stream)
      def some(groups: Seq[BlockMetaData]) = new ParquetMetadata(footer.getFileMetaData, groups.asJava)
      val chosen = possible(input, some(of(footer.getBlocks.asScala.toSeq)), stream)
      if (chosen.isEmpty) { stream.close(); new EmptyPartitionReader[ColumnarBatch] }
      else read(allBatches(input, some(chosen), stream), chosen)
    }

  private def withStream[T](path: String)(use: (HadoopInputFile, SeekableInputStream) => T): T = {
    val input = HadoopInputFile.fromPath(SparkPath.fromPathString(path).toPath, conf)
    val stream = input.newStream()
    try use(input, stream)
    catch { case error: Throwable => stream.close(); throw error }
  }

  /** The row groups that the conditions do not rule out by bounds and dictionaries. */
  private def possible(
      input: HadoopInputFile, footer: ParquetMetadata, stream: SeekableInputStream): Seq[BlockMetaData] = {
    val condition = if (!settings.parquetFilterPushDown) None
    else {
      val filters = new ParquetFilters(
        footer.getFileMetaData.getSchema,
        settings.parquetFilterPushDownDate,
        settings.parquetFilterPushDownTimestamp,
        settings.parquetFilterPushDownDecimal,
        settings.parquetFilterPushDownStringPredicate,
        settings.parquetFilterPushDownInFilterThreshold,
        settings.caseSensitiveAnalysis,
        rebase
      )
      parquet.filters.flatMap(filters.createFilter(_)).reduceOption(FilterApi.and)
    }
    val groups = footer.getBlocks.asScala.toSeq
    condition.fold(groups) { condition =>
      val options = HadoopReadOptions.builder(conf, input.getPath).build()
      val reader = new ParquetFileReader(input, footer, options, stream)
      def left(level: FilterLevel, of: Seq[BlockMetaData]) =
        RowGroupFilter.filterRowGroups(List(level).asJava, FilterCompat.get(condition), of.asJava, reader).asScala.toSeq
      try {
        val byBounds = if (options.useStatsFilter) left(FilterLevel.STATISTICS, groups) else groups
        val byValues = if (options.useDictionaryFilter) left(FilterLevel.DICTIONARY, byBounds) else byBounds
        val asked = parquet.filters.flatMap(_.v2references.map(_.head)).toSet
        for (group <- byBounds if !byValues.contains(group); column <- group.getColumns.asScala)
          if (column.hasDictionaryPage && asked(column.getPath.toArray.head))
            Dictionaries.check(column, stream, options)
        byValues
      } finally { reader.detachFileInputStream(); reader.close() }
    }
  }

  private def allBatches(
      input: HadoopInputFile, footer: ParquetMetadata, stream: SeekableInputStream): PartitionReader[ColumnarBatch] = {
    val reader = new VectorizedParquetRecordReader(
      null,
      rebase.mode.toString,
      rebase.timeZone,
      rebase.mode.toString,
      rebase.timeZone,
      settings.offHeapColumnVectorEnabled,
      settings.parquetVectorizedReaderBatchSize
    )
    val batches = new BatchReader(reader)
    try {
      reader.initialize(
        new FileSplit(input.getPath, 0, input.getLength, Array.empty[String]),
        context,
        Some(input),
        Some(new PageHeaders(stream, footer.getBlocks.asScala.toSeq)),
        Some(footer)
      )
      reader.initBatch(StructType(Nil), InternalRow.empty)
      reader.enableReturningBatches()
      batches
    } catch { case error: Throwable => batches.close(); throw error }
  }
}

private class BatchReader(reader: VectorizedParquetRecordReader) extends PartitionReader[ColumnarBatch] {
  override def next(): Boolean = reader.nextKeyValue()
  override def get(): ColumnarBatch = reader.getCurrentValue.asInstanceOf[ColumnarBatch]
  override def close(): Unit = reader.close()
}
