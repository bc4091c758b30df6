package org.apache.spark.sql.tablestore

import java.util.concurrent.{ConcurrentHashMap, Executors, ScheduledFuture, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd

/** Keeps the snapshots that queries read from expiring while they run. A query that has run for a while has a lease on
  * them, which is renewed until it ends, and lapses by itself if its program dies. Short queries cost nothing. */
object LongReads extends SparkListener with Logging {
  private case class Read(session: SparkSession, execution: Long, table: Requests.TableReference, snapshot: Long,
      sinceMs: Long) {
    @volatile var isLeased = false
    def asked: Requests.LeasedRead = Requests.LeasedRead(table, snapshot, execution.toString)
  }
  private val reads = ConcurrentHashMap.newKeySet[Read]()
  private var heard: SparkContext = _
  private var renewal: ScheduledFuture[_] = _
  private lazy val timer = Executors.newSingleThreadScheduledExecutor { (run: Runnable) =>
    val thread = new Thread(run, "table-store-read-leases")
    thread.setDaemon(true)
    thread
  }

  /** A query of the active session begins to read a table. */
  def begin(table: Requests.TableReference, snapshot: Option[Long]): Unit = {
    val session = SparkSession.active
    val execution = Option(session.sparkContext.getLocalProperty(SQLExecution.EXECUTION_ID_KEY)).map(_.toLong)
    for (id <- execution; at <- snapshot) {
      listen(session.sparkContext)
      reads.add(Read(session, id, table, at, System.currentTimeMillis))
    }
  }

  private def listen(context: SparkContext): Unit = synchronized {
    if (heard ne context) {
      if (renewal != null) renewal.cancel(false)
      reads.removeIf(_.session.sparkContext ne context)
      heard = context
      context.listenerBus.addToQueue(this, "tableStoreReads")
      val afterMs = context.getConf.getTimeAsMs("spark.tablestore.read.lease.after", "60s")
      renewal = timer.scheduleWithFixedDelay(() => renew(context, afterMs), afterMs, afterMs, TimeUnit.MILLISECONDS)
    }
  }

  override def onOtherEvent(event: SparkListenerEvent): Unit = event match {
    case ended: SparkListenerSQLExecutionEnd =>
      val over = reads.asScala.filter(_.execution == ended.executionId).toSeq
      over.foreach(reads.remove)
      note(over.filter(_.isLeased), isOver = true)
    case _ => ()
  }

  private def renew(context: SparkContext, afterMs: Long): Unit =
    if (!context.isStopped) {
      val long = reads.asScala.filter(_.sinceMs + afterMs <= System.currentTimeMillis).toSeq
      long.foreach(_.isLeased = true)
      note(long, isOver = false)
      // A query may have ended meanwhile.
      note(long.filterNot(reads.contains), isOver = true)
    }

  private def note(some: Seq[Read], isOver: Boolean): Unit =
    for ((session, of) <- some.groupBy(_.session))
      try session.withActive(PlannerProcess.ask(Requests.LeaseReads(of.map(_.asked), isOver)))
      catch { case NonFatal(failure) => logWarning(s"Leases of reads are not noted: ${failure.getMessage}") }
}
