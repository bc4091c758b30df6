package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation
import org.apache.spark.sql.catalyst.expressions.Literal
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, OverwriteByExpression}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.TableWritePrivilege
import org.apache.spark.sql.connector.catalog.transactions.Transaction
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.{StreamingDataWriterFactory, StreamingWrite}
import org.apache.spark.sql.execution.{CommandExecutionMode, SparkPlan}
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.datasources.v2.{StreamWriterCommitProgress, WriteToDataSourceV2Exec}
import org.apache.spark.sql.execution.streaming.operators.stateful.{EventTimeWatermarkExec, StateStoreWriter}
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The write of a stream's micro-batches. Spark passes it only the number of the batch; rows never pass through it,
  * because [[StreamWriteExec]] writes each batch as an equivalent INSERT. */
class ManagedStreamingWrite(val query: String, val isComplete: Boolean, val options: Map[String, String],
    val reference: Requests.TableReference) extends StreamingWrite {
  val name: Seq[String] =
    reference.relation.catalog.name +: reference.relation.namespace :+ reference.relation.name
  override def commit(batch: Long, messages: Array[WriterCommitMessage]): Unit = messages.foreach(
    _.asInstanceOf[NumberedBatch].id = batch)
  override def createStreamingWriterFactory(info: PhysicalWriteInfo): StreamingDataWriterFactory =
    throw new UnsupportedOperationException("rows are written by StreamWriteExec")
  override def abort(batch: Long, messages: Array[WriterCommitMessage]): Unit = ()
}

private class NumberedBatch extends WriterCommitMessage { var id: Long = -1 }

/** Writes one micro-batch. It extends Spark's own node, because Spark reads the number of written rows from that. */
class StreamWriteExec(batch: BatchWrite, refresh: () => Unit, rows: SparkPlan, custom: Seq[CustomMetric],
    transaction: Option[Transaction])
    extends WriteToDataSourceV2Exec(batch, refresh, rows, custom, transaction) {
  private val write = batch.asInstanceOf[MicroBatchWrite].writeSupport.asInstanceOf[ManagedStreamingWrite]
  override protected def withNewChildInternal(child: SparkPlan): StreamWriteExec =
    new StreamWriteExec(batch, refresh, child, custom, transaction)
  override def simpleString(maxFields: Int): String = s"TableStoreStreamWrite ${write.name.mkString(".")}"

  override lazy val metrics: Map[String, SQLMetric] = WriteMetrics.of(sparkContext)

  override protected def run(): Seq[InternalRow] = {
    val running = StreamWriters.of(session, write)
    val batch = Requests.StreamBatch(running.query, number, running.offsets(number))
    val isCommitted = PlannerProcess.ask(
      Requests.BeginStreamBatch(write.reference, batch, write.options, write.isComplete))
    if (isCommitted) { if (isStateful) query.execute().foreach(_ => ()) }
    else {
      val written = statement(batch).write()
      WriteMetrics.post(sparkContext, metrics, written)
      commitProgress = Some(StreamWriterCommitProgress(written.rows))
    }
    Nil
  }

  private def number: Long = {
    val found = new NumberedBatch
    batch.commit(Array[WriterCommitMessage](found))
    found.id
  }

  /** Whether the batch must run even if its rows are already committed: running it updates its state and watermark. */
  private def isStateful: Boolean = query.exists(node =>
    node.isInstanceOf[StateStoreWriter] || node.isInstanceOf[EventTimeWatermarkExec])

  /** The batch as a statement, planned like any other: names, casts, defaults and computed columns work alike. */
  private def statement(stream: Requests.StreamBatch): WriteExec = {
    val active = session.asInstanceOf[SparkSession]
    val frame = active.internalCreateDataFrame(query.execute(), query.schema).logicalPlan
    val table = UnresolvedRelation(write.name, new CaseInsensitiveStringMap(java.util.Map.of()), isStreaming = false)
    val command =
      if (write.isComplete) OverwriteByExpression.byName(table.requireWritePrivileges(
          Set(TableWritePrivilege.INSERT, TableWritePrivilege.DELETE)), frame, Literal.TrueLiteral, write.options)
      else AppendData.byName(table.requireWritePrivileges(Set(TableWritePrivilege.INSERT)), frame, write.options)
    val exec = active.sessionState.executePlan(command, CommandExecutionMode.SKIP).sparkPlan.asInstanceOf[WriteExec]
    exec.copy(request = exec.request.copy(stream = Some(stream)))
  }
}
