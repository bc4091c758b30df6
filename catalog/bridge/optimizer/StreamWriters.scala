package org.apache.spark.sql.tablestore

import java.nio.charset.StandardCharsets.UTF_8
import java.util.UUID
import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.internal.Logging
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.streaming.WriteToStreamStatement
import org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager
import org.apache.spark.sql.execution.streaming.runtime.{StreamExecution, StreamMetadata}
import org.apache.spark.sql.streaming.StreamingQueryListener
import org.json4s.{JArray, JString}
import org.json4s.jackson.JsonMethods.compact

/** Asks the planner to check a stream that is about to write a managed table, before Spark starts the stream. */
class StreamWriters(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val listens =
    session.asInstanceOf[classic.SparkSession].streams.addListener(new StreamWriterListener(session))

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case start: WriteToStreamStatement if start.sink.isInstanceOf[ManagedTable] => check(start); start
    case other => other
  }

  private def check(start: WriteToStreamStatement): Unit = {
    val table = start.sink.asInstanceOf[ManagedTable]
    val root = start.userSpecifiedCheckpointLocation.map(new Path(_))
      .orElse(conf.checkpointLocation.map(new Path(_, start.userSpecifiedName.getOrElse(UUID.randomUUID.toString))))
      .getOrElse(throw Errors.noCheckpoint(table.name()))
    listens
    val checkpoint = new StreamCheckpoint(root, start.hadoopConf)
    val lost = PlannerProcess.ask(Requests.StartStreamWrite(table.reference, checkpoint.query, checkpoint.lastOffset,
        StreamWriters.running(session), start.outputMode.toString))
    lost.foreach { case (batch, entry) => checkpoint.restore(batch, entry) }
  }
}

object StreamWriters {
  private[tablestore] val known = new ConcurrentHashMap[UUID, RunningStream]()

  /** What writes tables: ids of streaming queries, and jobs. */
  def running(session: SparkSession): List[String] = Jobs.running.map(_.commitUser) ++
    session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.keySet.asScala.map(_.toString)

  /** The same as a JSON array. */
  def all(session: SparkSession): String = compact(JArray(running(session).map(JString(_))))

  /** The query whose micro-batch is being written. */
  def of(session: SparkSession, write: ManagedStreamingWrite): RunningStream = {
    val id = UUID.fromString(write.query)
    val found = RunningStream(session, write,
      session.asInstanceOf[classic.SparkSession].sharedState.activeStreamingQueries.get(id))
    known.put(id, found)
    found
  }
}

case class RunningStream(session: SparkSession, write: ManagedStreamingWrite, execution: StreamExecution) {
  @volatile var renewed: Long = System.nanoTime()
  def query: Requests.RunningQuery =
    Requests.RunningQuery(write.query, execution.runId.toString, StreamWriters.running(session))

  /** Entries of the checkpoint from which a batch can be read again. */
  def offsets(batch: Long): Map[String, String] = {
    val checkpoint = new StreamCheckpoint(new Path(execution.resolvedCheckpointRoot),
      execution.sparkSessionForStream.sessionState.newHadoopConf())
    Seq(batch - 1, batch).filter(_ >= 0).map(number => number.toString -> checkpoint.entry(number)).toMap
  }
}

/** The files of a query's checkpoint of which the table keeps copies. */
class StreamCheckpoint(root: Path, configuration: Configuration) {
  private val offsets = new Path(root, "offsets")
  private lazy val files = CheckpointFileManager.create(offsets, configuration)

  def query: Option[String] = StreamMetadata.read(new Path(root, "metadata"), configuration).map(_.id)
  def lastOffset: Long =
    if (!files.exists(offsets)) -1
    else files.list(offsets).map(_.getPath.getName).filter(_.forall(_.isDigit)).map(_.toLong).maxOption.getOrElse(-1)
  def entry(batch: Long): String = {
    val in = files.open(new Path(offsets, batch.toString))
    try new String(in.readAllBytes, UTF_8)
    finally in.close()
  }
  def restore(batch: String, entry: String): Unit = {
    files.mkdirs(offsets)
    val out = files.createAtomic(new Path(offsets, batch), true)
    try { out.write(entry.getBytes(UTF_8)); out.close() }
    catch { case NonFatal(error) => out.cancel(); throw error }
  }
}

/** Reports to the planner that a query still runs, or that it has ended. */
class StreamWriterListener(session: SparkSession) extends StreamingQueryListener with Logging {
  import StreamingQueryListener._
  private val pause = 30L * 1000 * 1000 * 1000

  private def tell(request: => Requests.Request[Unit]): Unit =
    try session.withActive(PlannerProcess.ask(request))
    catch { case NonFatal(error) => logWarning(s"The planner could not be told: ${error.getMessage}") }

  private def renew(id: UUID): Unit = Option(StreamWriters.known.get(id)).foreach { stream =>
    if (System.nanoTime() - stream.renewed > pause) {
      stream.renewed = System.nanoTime()
      tell(Requests.RenewStreamWrite(stream.write.reference, stream.query))
    }
  }
  override def onQueryStarted(event: QueryStartedEvent): Unit = ()
  override def onQueryProgress(event: QueryProgressEvent): Unit = renew(event.progress.id)
  override def onQueryIdle(event: QueryIdleEvent): Unit = renew(event.id)
  override def onQueryTerminated(event: QueryTerminatedEvent): Unit =
    Option(StreamWriters.known.get(event.id)).filter(_.execution.runId == event.runId).foreach { stream =>
      StreamWriters.known.remove(event.id, stream)
      tell(Requests.EndStreamWrite(stream.write.reference, stream.query))
    }
}
