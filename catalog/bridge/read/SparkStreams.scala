package org.apache.spark.sql.tablestore

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable
import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog.{SupportsRead, TableCapability}
import org.apache.spark.sql.connector.read.Scan
import org.apache.spark.sql.connector.read.streaming.{
  AcceptsLatestSeenOffset,
  MicroBatchStream,
  SupportsAdmissionControl
}
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Utils, FileDataSourceV2}
import org.apache.spark.sql.execution.datasources.v2.python.UserDefinedPythonDataSource
import org.apache.spark.sql.execution.streaming.sources.TextSocketTable
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s.{JNull, JObject, JString, JValue}
import org.json4s.jackson.JsonMethods.compact

/** A stream of Spark's, which is opened by whoever needs it first; one thread at a time asks it. */
class OpenedStream(val builder: Option[UserDefinedPythonDataSource], opening: => (Scan, MicroBatchStream)) {
  private lazy val made = opening
  @volatile private var usedMs = System.currentTimeMillis
  private val users = new AtomicInteger
  private var isOpened = false
  var committed: Option[String] = None

  def scan: Scan = made._1
  def stream: MicroBatchStream = made._2

  def ready(): OpenedStream = asked { made; isOpened = true; this }

  def asked[T](question: => T): T = {
    users.incrementAndGet()
    try synchronized(question)
    finally {
      usedMs = System.currentTimeMillis
      users.decrementAndGet()
    }
  }

  def isIdleSince(ms: Long): Boolean = users.get == 0 && usedMs < ms

  def stop(): Unit = synchronized(if (isOpened) stream.stop())
}

/** Streams that Spark reads by itself: up to where they are, and what reads a range. Who looks and who reads have a
  * stream each: one that looks ahead may answer for the range that it has seen last alone. */
object SparkStreams extends Logging {
  private val idleMs = 60000L
  private val python = """[\w.]*(Error|Exception)\b.*""".r
  private val opened = mutable.Map.empty[(String, Boolean), OpenedStream]
  private var context: Option[SparkContext] = None

  /** Python data sources of sessions in which an INSERT was given, by their names: sessions of jobs lack them. */
  private val registered = new ConcurrentHashMap[String, UserDefinedPythonDataSource]

  /** The offset of the first row, and the one up to which rows are there after the known ones, as JSON, or why nobody
    * can tell. */
  def look(session: classic.SparkSession, asked: String): String = {
    val known = new Answers.StreamRange(Json.parse(asked))
    val found = attempt(session, known) { opened =>
      val ahead = opened.stream
      val start = known.start.map(ahead.deserializeOffset).getOrElse(ahead.initialOffset())
      val last = known.end.map(ahead.deserializeOffset)
      val end = ahead match {
        case limited: SupportsAdmissionControl =>
          limited.latestOffset(last.getOrElse(start), limited.getDefaultReadLimit)
        case seeing: AcceptsLatestSeenOffset =>
          last.foreach(seeing.setLatestSeenOffset)
          ahead.latestOffset()
        case other => other.latestOffset()
      }
      JObject(
        "start" -> JString(start.json),
        "end" -> Option(end).fold[JValue](JNull)(offset => JString(offset.json)))
    }
    // Another program may have been faster to say where a stream begins, and where it did is in the checkpoint.
    if (known.start.isEmpty) close(known.identity, isAhead = true)
    compact(found.fold(reason => JObject("failure" -> JString(reason)), identity))
  }

  /** Tells a stream that rows before an offset are never asked for again; null, or why it cannot be told. */
  def commit(session: classic.SparkSession, asked: String): String = {
    val known = new Answers.StreamRange(Json.parse(asked))
    val said = attempt(session, known) { one =>
      for (end <- known.end if !one.committed.contains(end)) {
        one.stream.commit(one.stream.deserializeOffset(end))
        one.committed = Some(end)
      }
    }
    said.left.toOption.orNull
  }

  private def attempt[T](session: classic.SparkSession, known: Answers.StreamRange)(
      asked: OpenedStream => T): Either[String, T] =
    try {
      val one = open(session, known, isAhead = true)
      Right(one.asked(session.withActive(asked(one))))
    } catch {
      case NonFatal(error) =>
        close(known.identity, isAhead = true)
        Left(said(known, error))
    }

  /** What an error says, without the secrets of the source. */
  def said(known: Answers.StreamRange, error: Throwable): String = {
    val message = Option(error.getMessage).filter(!_.isBlank).getOrElse(error.getClass.getName)
    val lines = message.linesIterator.map(_.trim).filter(_.nonEmpty).toSeq
    val first = lines.head.stripSuffix("Traceback (most recent call last):").trim
    // What Python says stands behind its trace.
    val said = if (first == lines.head) first else s"$first ${lines.filter(python.matches).lastOption.getOrElse("")}"
    val secrets = known.secret.map(known.options).filter(_.nonEmpty)
    secrets.foldLeft(said.stripSuffix("."))(_.replace(_, "*********(redacted)"))
  }

  /** The stream of those that look ahead, or of those that read. One that is slow to open keeps no other waiting. */
  def open(session: classic.SparkSession, known: Answers.StreamRange, isAhead: Boolean): OpenedStream = {
    val (one, over) = opened.synchronized {
      val isSame = context.contains(session.sparkContext)
      if (!isSame) registered.clear()
      context = Some(session.sparkContext)
      val builder = builderOf(session, known.format)
      val (key, idle) = ((known.identity, isAhead), System.currentTimeMillis - idleMs)
      val over = removed((other, one) =>
        !isSame || one.isIdleSince(idle) || (other == key && one.builder != builder))
      (opened.getOrElseUpdate(key, new OpenedStream(builder, session.withActive(opening(session, known)))), over)
    }
    over.foreach(stop)
    one.ready()
  }

  private def builderOf(session: classic.SparkSession, format: String): Option[UserDefinedPythonDataSource] = {
    val (manager, name) = (session.sessionState.dataSourceManager, format.toLowerCase(java.util.Locale.ROOT))
    if (manager.dataSourceExists(name)) registered.put(name, manager.lookupDataSource(name))
    else Option(registered.get(name)).foreach(manager.registerDataSource(name, _))
    Option(registered.get(name))
  }

  private def opening(session: classic.SparkSession, known: Answers.StreamRange): (Scan, MicroBatchStream) = {
    val conf = session.sessionState.conf
    val provider = DataSource.lookupDataSourceV2(known.format, conf).filterNot(_.isInstanceOf[FileDataSourceV2])
      .getOrElse(throw Errors.noStream(known.format))
    val stated = DataSourceV2Utils.extractSessionConfigs(provider, conf) ++ known.options
    val options = new CaseInsensitiveStringMap(stated.asJava)
    DataSourceV2Utils.getTableFromProvider(provider, options, None) match {
      case _: TextSocketTable => throw Errors.forgetfulStream
      case table: SupportsRead if table.capabilities.contains(TableCapability.MICRO_BATCH_READ) =>
        val scan = table.newScanBuilder(options).build()
        (scan, scan.toMicroBatchStream(known.checkpoint))
      case _ => throw Errors.noStream(known.format)
    }
  }

  private def close(identity: String, isAhead: Boolean): Unit =
    opened.synchronized(opened.remove((identity, isAhead))).foreach(stop)

  /** Ends what runs for streams, when no job runs any more. */
  def closeAll(): Unit = opened.synchronized(removed((_, _) => true)).foreach(stop)

  private def removed(isOver: ((String, Boolean), OpenedStream) => Boolean): Seq[OpenedStream] = {
    val over = opened.filter { case (key, one) => isOver(key, one) }
    opened --= over.keys
    over.values.toSeq
  }

  /** It may be in use, for which nobody waits who has a lock on all. */
  private def stop(one: OpenedStream): Unit =
    try one.stop()
    catch { case NonFatal(error) => logWarning(s"A stream does not end: ${error.getMessage}") }
}
