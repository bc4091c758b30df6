package org.apache.spark.sql.tablestore

import java.util.concurrent.ConcurrentHashMap

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.SparkContext
import org.apache.spark.internal.Logging
import org.apache.spark.scheduler.{SparkListener, SparkListenerEvent}
import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, UnresolvedIdentifier}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, LookupCatalog}

/** Lets CREATE TEMPORARY TABLE see only the session's temporary tables, so that it may hide a permanent table. */
class TemporaryTables(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  private val own = session.asInstanceOf[classic.SparkSession]
  SessionEnds.listen(own)
  override protected lazy val catalogManager: CatalogManager = own.sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create: V2CreateTablePlan
        if isTemporary(plan.expressions.collectFirst { case s: UnresolvedTableSpec => s.properties }) =>
      hiding(plan, create.name)
    case create: CreateTableLike if isTemporary(Some(create.properties)) => hiding(plan, create.name)
    case other => other
  }

  private def isTemporary(properties: Option[Map[String, String]]): Boolean =
    properties.exists(_.get(SharedText.name("temporary-table")).contains("true"))

  private def hiding(plan: LogicalPlan, name: LogicalPlan): LogicalPlan = name match {
    case UnresolvedIdentifier(CatalogAndIdentifier(catalog: TableStoreCatalog, ident), _) =>
      SessionEnds.follow(own)
      val resolved = ResolvedIdentifier(catalog.ofTemporaryTables, ident)
      plan.mapChildren(child => if (child eq name) resolved else child)
    case _ => plan
  }
}

/** Tells the planner when a session of the Thrift server or of Connect that made temporary tables has ended. Temporary
  * tables of a session with a process of its own are removed when the process ends. */
object SessionEnds extends SparkListener with Logging {

  /** A session that made temporary tables, with the job group and the job tags of the statement that made them. */
  private case class Maker(session: classic.SparkSession, statement: String, tags: String)
  private val makers = ConcurrentHashMap.newKeySet[Maker]()

  /** The Thrift server's session of each running statement, and of each maker's statement. */
  private val sessionOf = new ConcurrentHashMap[String, String]()
  private var heard: SparkContext = _

  def follow(session: classic.SparkSession): Unit = synchronized {
    def local(key: String): String = Option(session.sparkContext.getLocalProperty(key)).getOrElse("")
    makers.add(Maker(session, local("spark.jobGroup.id"), local("spark.job.tags")))
  }

  /** Starts listening; must be called before a statement makes a table, to receive the statement's events. */
  def listen(session: SparkSession): Unit = synchronized {
    if (heard ne session.sparkContext) {
      heard = session.sparkContext
      heard.listenerBus.addToQueue(this, "tableStoreSessions")
    }
  }

  /** Matches the events of both servers by class name, because neither server need be installed. */
  override def onOtherEvent(event: SparkListenerEvent): Unit = (event, event.getClass.getSimpleName) match {
    case (started: Product, "SparkListenerThriftServerOperationStart") =>
      sessionOf.put(text(started, 0), text(started, 1))
    case (closed: Product, "SparkListenerThriftServerOperationClosed") =>
      if (!makers.asScala.exists(_.statement == text(closed, 0))) sessionOf.remove(text(closed, 0))
    case (closed: Product, "SparkListenerThriftServerSessionClosed") =>
      end(maker => sessionOf.get(maker.statement) == text(closed, 0))
      sessionOf.values.removeIf(_ == text(closed, 0))
    case (closed: Product, "SparkListenerConnectSessionClosed") =>
      end(_.tags.contains(s"_User_${text(closed, 1)}_Session_${text(closed, 0)}_"))
    case _ => ()
  }
  private def text(event: Product, at: Int): String = String.valueOf(event.productElement(at))

  private def end(ended: Maker => Boolean): Unit = for (maker <- makers.asScala.filter(ended)) {
    makers.remove(maker)
    try {
      Jobs.endWith(maker.session)
      maker.session.withActive(PlannerProcess.ask(Requests.EndSession()))
    } catch {
      case NonFatal(error) => logWarning("temporary tables of an ended session stay until the process ends", error)
    }
  }
}
