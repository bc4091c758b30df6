package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.analysis.AsOfVersion
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.json4s.jackson.JsonMethods.compact

/** The query of a materialized view for the planner, analysed as Spark analyses it anywhere: in a session of its own,
  * which has the catalog, the namespace and the settings of the definition and none of a user's temporary objects. */
class ViewQuery(user: classic.SparkSession, query: Requests.StoredQuery) {
  private val session: classic.SparkSession = user.newSession()
  user.sessionState.conf.getAllConfs.filter(_._1.startsWith("spark.sql.catalog.")).foreach { case (key, value) =>
    session.sessionState.conf.setConfString(key, value)
  }
  query.settings.foreach { case (key, value) => session.sessionState.conf.setConfString(key, value) }
  session.sessionState.catalogManager.setCurrentCatalog(query.currentCatalog)
  session.sessionState.catalogManager.setCurrentNamespace(query.currentNamespace.toArray)

  private val plan: LogicalPlan = session.withActive(session.sql(query.text).queryExecution.analyzed)

  /** What the planner decides by, as JSON. */
  def facts(): String = {
    val expressions = plan.collectWithSubqueries { case node => node.expressions }.flatten
    val relations = plan.collectWithSubqueries { case relation: DataSourceV2Relation => relation }
    val leaves = plan.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }
    compact(Requests.QueryFacts(
        schema = plan.schema.asNullable.json,
        sources = relations.collect(ViewQuery.managed).map(_.reference),
        others = leaves.filterNot(ViewQuery.isOwnOrConstant).map(_.simpleString(80)),
        functions = expressions.flatMap(_.collect { case function => function.prettyName }).distinct,
        isDeterministic = expressions.forall(_.deterministic)
      ).toJson)
  }

  /** The result over the snapshots at which the tables were when the query was analysed. */
  def frame(): classic.DataFrame = classic.Dataset.ofRows(
    session,
    plan.transformWithSubqueries {
      case relation: DataSourceV2Relation if ViewQuery.managed.isDefinedAt(relation) =>
        ViewQuery.managed(relation).version() match {
          case null => LocalRelation(relation.output, Nil)
          // Without it Spark loads the newest snapshot once more when the plan runs.
          case version => relation.copy(timeTravelSpec = Some(AsOfVersion(version)))
        }
    }
  )

  /** A frame of the same session. */
  def sql(text: String): classic.DataFrame = session.sql(text)
}

object ViewQuery {
  def of(session: classic.SparkSession, text: String, catalog: String, namespace: java.util.List[String],
      settings: java.util.Map[String, String]): ViewQuery = session.withActive(new ViewQuery(
      session, Requests.StoredQuery(text, catalog, namespace.asScala.toSeq, settings.asScala.toMap)))

  /** What writes the rows of a frame. */
  def written(frame: classic.DataFrame): WriteQuery =
    new WriteQuery(frame.sparkSession, frame.queryExecution.optimizedPlan)

  /** Lets cached plans over a table read its new rows. */
  def recache(session: classic.SparkSession, name: java.util.List[String]): Unit =
    session.sharedState.cacheManager.recacheTableOrView(session, name.asScala.toSeq, includeTimeTravel = false)

  private val managed: PartialFunction[DataSourceV2Relation, ManagedTable] = {
    case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => table
  }
  private def isOwnOrConstant(leaf: LogicalPlan): Boolean = leaf match {
    case relation: DataSourceV2Relation => managed.isDefinedAt(relation)
    case other => other.getClass.getSimpleName match {
        case "LocalRelation" | "OneRowRelation" | "Range" | "CTERelationRef" => true
        case _ => false
      }
  }
}
