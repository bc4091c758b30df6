package org.apache.spark.sql.tablestore

import java.io.{InputStream, OutputStream}
import java.nio.charset.StandardCharsets.UTF_8
import java.util
import java.util.Optional

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.read.{InputPartition, PartitionReaderFactory}
import org.apache.spark.sql.connector.read.streaming.{
  MicroBatchStream,
  Offset,
  ReadLimit,
  ReportsSourceMetrics,
  SupportsTriggerAvailableNow
}
import org.apache.spark.sql.execution.streaming.checkpointing.HDFSMetadataLog

/** An offset of the planner's; its text is opaque to the bridge. */
case class PlannerOffset(override val json: String) extends Offset

/** A table as a stream of micro-batches; the planner decides on the start, the newest offset and a batch's splits. */
class ManagedStream(asked: Requests.AskedScan, table: String, checkpoint: String,
    readers: Answers.PythonTask => PartitionReaderFactory)
    extends MicroBatchStream with SupportsTriggerAvailableNow with ReportsSourceMetrics {
  private var last: Option[Offset] = None
  private var seen: Option[Offset] = None

  /** Stored in the checkpoint: a start such as "the latest" must not change before the first batch is recorded. */
  override def initialOffset(): Offset = starts.get(0).getOrElse {
    val start = PlannerOffset(PlannerProcess.ask(Requests.StreamStart(asked)))
    if (starts.add(0, start)) start else starts.get(0).get
  }
  private lazy val starts = new HDFSMetadataLog[PlannerOffset](SparkSession.active, checkpoint) {
    override protected def serialize(offset: PlannerOffset, out: OutputStream): Unit =
      out.write(offset.json.getBytes(UTF_8))
    override protected def deserialize(in: InputStream): PlannerOffset =
      PlannerOffset(new String(in.readAllBytes, UTF_8))
  }
  override def deserializeOffset(json: String): Offset = PlannerOffset(json)
  override def latestOffset(): Offset =
    throw new UnsupportedOperationException("latestOffset(Offset, ReadLimit) is called")

  /** The planner reads the limits from options. If Spark wants all data, it passes another limit than this one. */
  override def getDefaultReadLimit: ReadLimit = ReadLimit.maxFiles(Int.MaxValue)

  override def prepareForTriggerAvailableNow(): Unit =
    last = Some(PlannerOffset(PlannerProcess.ask(Requests.StreamLatest(asked)).latest))
  override def latestOffset(start: Offset, limit: ReadLimit): Offset = {
    val answer = PlannerProcess.ask(Requests.StreamLatest(
        asked, Some(start.json), last.map(_.json), isLimited = limit == getDefaultReadLimit))
    seen = Some(PlannerOffset(answer.latest))
    answer.end.map(PlannerOffset(_)).get // a start was named
  }
  override def reportLatestOffset(): Offset = seen.orNull

  override def planInputPartitions(start: Offset, end: Offset): Array[InputPartition] = {
    val parallelism = SparkSession.active.leafNodeDefaultParallelism
    PlannerProcess.ask(Requests.PlanStream(asked, start.json, end.json, parallelism))
      .map(ManagedScan.workerSplit).toArray
  }
  override lazy val createReaderFactory: PartitionReaderFactory =
    readers(PlannerProcess.ask(Requests.StreamTask(asked)))

  override def metrics(consumed: Optional[Offset]): util.Map[String, String] =
    if (consumed.isEmpty) util.Map.of()
    else PlannerProcess.ask(Requests.StreamLag(asked, consumed.get.json)).asJava
  override def commit(end: Offset): Unit = ()
  override def stop(): Unit = ()
  override def toString: String = s"TableStoreStream $table"
}
