package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.analysis.AsOfVersion
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, SubqueryExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Join, LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.json4s.jackson.JsonMethods.compact

/** The query of a materialized view for the planner, analysed as Spark analyses it anywhere: in a session of its own,
  * which has the catalog, the namespace and the settings of the definition and none of a user's temporary objects. */
class JobQuery(user: classic.SparkSession, query: Requests.StoredQuery) {
  private val session: classic.SparkSession = user.newSession()
  user.sessionState.conf.getAllConfs.filter(_._1.startsWith("spark.sql.catalog.")).foreach { case (key, value) =>
    session.sessionState.conf.setConfString(key, value)
  }
  query.settings.foreach { case (key, value) => session.sessionState.conf.setConfString(key, value) }
  session.sessionState.catalogManager.setCurrentCatalog(query.currentCatalog)
  session.sessionState.catalogManager.setCurrentNamespace(query.currentNamespace.toArray)

  private val plan: LogicalPlan = session.withActive(session.sql(query.text).queryExecution.analyzed)

  /** The nodes of the plan in order of their numbers; tables inside of subqueries are not among them. */
  private def nodes: Seq[Requests.QueryNode] = {
    var sources = -1
    def walk(node: LogicalPlan, parent: Int, number: Int): Seq[Requests.QueryNode] = {
      val own = node match {
        case JobQuery.Managed(_) =>
          sources += 1
          Requests.QueryNode("Source", parent, Some(sources))
        case other if other.expressions.exists(SubqueryExpression.hasSubquery) =>
          Requests.QueryNode("Subquery", parent)
        case join: Join =>
          Requests.QueryNode(s"Join ${join.joinType.sql.toLowerCase(java.util.Locale.ROOT).capitalize}", parent)
        case other => Requests.QueryNode(other.getClass.getSimpleName.stripSuffix("$"), parent)
      }
      node.children.foldLeft(Seq(own))((before, child) => before ++ walk(child, number, number + before.size))
    }
    walk(plan, -1, 0)
  }

  /** What the planner decides by, as JSON. */
  def facts(): String = {
    val expressions = plan.collectWithSubqueries { case node => node.expressions }.flatten
    // Those of the plan itself first: they are the ones that its nodes name.
    val inPlan = plan.collect { case JobQuery.Managed(table) => table.reference }
    val inAll = plan.collectWithSubqueries { case JobQuery.Managed(table) => table.reference }
    val leaves = plan.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }
    compact(Requests.QueryFacts(
        schema = plan.schema.asNullable.json,
        sources = inPlan ++ inAll.diff(inPlan),
        others = leaves.filterNot(JobQuery.isOwnOrConstant).map(_.simpleString(80)),
        functions = expressions.flatMap(_.collect { case function => function.prettyName }).distinct,
        isDeterministic = expressions.forall(_.deterministic),
        nodes = nodes
      ).toJson)
  }

  /** The result over the snapshots at which the tables were when the query was analysed. */
  def frame(): classic.DataFrame =
    classic.Dataset.ofRows(session, plan.transformWithSubqueries { case JobQuery.Pinned(pinned) => pinned })

  /** The result where other rows stand in the place of one table: `changed` is its number, `old` has the versions of
    * tables that are read as they were (0 before the first), `empty` the nodes that give no rows. */
  def term(changed: Int, rows: classic.DataFrame, old: java.util.Map[Int, String], empty: java.util.List[Int])
      : classic.DataFrame = {
    var next = -1
    def rebuilt(node: LogicalPlan): LogicalPlan = {
      next += 1
      val number = next
      val children = node.children.map(rebuilt)
      (node, Option(old.get(number))) match {
        case _ if empty.contains(number) => LocalRelation(node.output, Nil)
        case _ if number == changed => JobQuery.as(rows.queryExecution.analyzed, node.output)
        case (_: DataSourceV2Relation, Some("0")) => LocalRelation(node.output, Nil)
        case (relation: DataSourceV2Relation, Some(version)) => relation.copy(
            table = relation.catalog.get.asTableCatalog.loadTable(relation.identifier.get, version),
            timeTravelSpec = Some(AsOfVersion(version)))
        case (JobQuery.Pinned(pinned), _) => pinned
        case _ => node.withNewChildren(children)
      }
    }
    session.withActive(classic.Dataset.ofRows(session, rebuilt(plan)))
  }

  /** A frame of the same session. */
  def sql(text: String): classic.DataFrame = session.sql(text)
}

object JobQuery {
  def of(session: classic.SparkSession, text: String, catalog: String, namespace: java.util.List[String],
      settings: java.util.Map[String, String]): JobQuery = session.withActive(new JobQuery(
      session, Requests.StoredQuery(text, catalog, namespace.asScala.toSeq, settings.asScala.toMap)))

  /** What writes the rows of a frame. */
  def written(frame: classic.DataFrame): WriteQuery =
    new WriteQuery(frame.sparkSession, frame.queryExecution.optimizedPlan)

  /** Lets cached plans over a table read its new rows. */
  def recache(session: classic.SparkSession, name: java.util.List[String]): Unit =
    session.sharedState.cacheManager.recacheTableOrView(session, name.asScala.toSeq, includeTimeTravel = false)

  /** Rows under the attributes of a node that they replace. */
  private def as(rows: LogicalPlan, output: Seq[Attribute]): LogicalPlan = Project(
    output.map(column =>
      Alias(rows.output.find(_.name == column.name).get, column.name)(exprId = column.exprId)),
    rows)

  private object Managed {
    def unapply(node: LogicalPlan): Option[ManagedTable] = node match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => Some(table)
      case _ => None
    }
  }

  /** A table at the snapshot with which it was loaded. */
  private object Pinned {
    def unapply(node: LogicalPlan): Option[LogicalPlan] = node match {
      case relation @ DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => Some(table.version() match {
          case null => LocalRelation(relation.output, Nil)
          // Without it Spark loads the newest snapshot once more when the plan runs.
          case version => relation.copy(timeTravelSpec = Some(AsOfVersion(version)))
        })
      case _ => None
    }
  }
  private def isOwnOrConstant(leaf: LogicalPlan): Boolean = leaf match {
    case Managed(_) => true
    case other => other.getClass.getSimpleName match {
        case "LocalRelation" | "OneRowRelation" | "Range" | "CTERelationRef" => true
        case _ => false
      }
  }
}
