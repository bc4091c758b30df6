package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._
import scala.util.DynamicVariable

import org.apache.spark.sql.{classic, Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.AnalysisContext
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.QueryPlan
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.Origin
import org.apache.spark.sql.execution.command.{LeafRunnableCommand, ViewHelper}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StringType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Gives statements of SQL their meaning in streaming mode: an INSERT of a query becomes the start of a job, a SELECT
  * from tables and an INSERT OVERWRITE are refused. DataFrames are not concerned. */
class StreamingStatements(session: SparkSession) extends Rule[LogicalPlan] {
  import StreamingStatements._

  override def apply(plan: LogicalPlan): LogicalPlan =
    if (!isStreaming(conf) || inAnyMode.value || AnalysisContext.get.outerPlan.isDefined) plan
    else (firstWord(plan.origin), plan) match {
      case (word, insert: Command) if inserting.contains(word) => ofInsert(insert)
      case ("FROM", several: Union) if several.children.exists(_.isInstanceOf[Command]) =>
        refuse(Requests.RefusedStatement.several)
      case ("SELECT" | "WITH" | "FROM" | "TABLE" | "(", query) if !query.isInstanceOf[Command] && !isBounded(query) =>
        val tables = changing(query)
        if (tables.isEmpty) query else refuse(Requests.RefusedStatement.select, tables)
      case _ => plan
    }

  private def ofInsert(insert: LogicalPlan): LogicalPlan = insert match {
    case AppendData(relation @ DataSourceV2Relation(table: ManagedTable, _, _, _, _, _), query, options, _, _, _, _) =>
      if (!insert.resolved || !readsTables(query)) insert
      else {
        val name = relation.catalog.map(_.name).toSeq ++ relation.identifier.toSeq.flatMap(ident =>
          ident.namespace.toSeq :+ ident.name)
        ViewHelper.verifyTemporaryObjectsNotExists(isTemporary = false, name, query, Nil)
        val rules = QueryRules.explained(session, unexplained(insert.origin), insert.origin, isView = false)
        val stated = relation.options.asCaseSensitiveMap.asScala.toMap ++ options
        StreamingInsert(table.reference, text(insert.origin), stated, query, rules)
      }
    case write: V2WriteCommand if isManaged(write.table) => refuse(Requests.RefusedStatement.overwrite)
    case other => if (changing(other).isEmpty) other else refuse(Requests.RefusedStatement.foreign)
  }

  private def isManaged(plan: LogicalPlan): Boolean = plan match {
    case DataSourceV2Relation(_: ManagedTable, _, _, _, _, _) => true
    case _ => false
  }
  private def changing(plan: LogicalPlan): Seq[String] =
    plan.collectWithSubqueries { case Changing(table) => table.name() }.distinct
  private def refuse(statement: String, reads: Seq[String] = Nil): LogicalPlan = {
    PlannerProcess.ask(Requests.RefuseStreaming(statement, reads))
    throw new IllegalStateException("the planner refuses it")
  }

  /** A query of constants alone, or of tables up to now, has one result, which an INSERT in any mode writes once. */
  private def readsTables(query: LogicalPlan): Boolean =
    query.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }.exists {
      case Bounded(_) => false
      case leaf => !JobQuery.isConstant(leaf)
    }

  private def isBounded(query: LogicalPlan): Boolean = query match {
    case _: GlobalLimit => true
    case WithCTE(child, _) => isBounded(child)
    case Project(_, child) => isBounded(child)
    case _ => false
  }
}

object StreamingStatements {
  private val inAnyMode = new DynamicVariable(false)
  private val inserting = Set("INSERT", "WITH", "FROM")

  /** Analyses a query that is not to be run. */
  def anyMode[T](analysed: => T): T = inAnyMode.withValue(true)(analysed)

  /** Whether a plan is that of an INSERT in streaming mode, which starts a job. */
  def isInsert(plan: LogicalPlan, conf: SQLConf): Boolean = isStreaming(conf) && !inAnyMode.value && plan.exists {
    case _: InsertIntoStatement | _: V2WriteCommand => inserting.contains(firstWord(plan.origin))
    case _ => false
  }

  /** Where no mode is set, an interval means streaming. */
  private def isStreaming(conf: SQLConf): Boolean = conf.getConfString("execution.runtime-mode", "") match {
    case "" => conf.contains("execution.checkpointing.interval")
    case mode => mode.equalsIgnoreCase("streaming")
  }

  private val start =
    """(?is)^(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(?:EXPLAIN\s+(?:\w+\s+)?(?=INSERT\b))?(\(|\w+)""".r.unanchored

  /** The statement's text; a statement of a script is a part of the script's. */
  private def text(origin: Origin): String = (origin.sqlText, origin.startIndex, origin.stopIndex) match {
    case (Some(script), Some(from), Some(to)) if word(script) == "BEGIN" => script.substring(from, to + 1)
    case (sql, _, _) => sql.getOrElse("")
  }

  /** The statement of an EXPLAIN. */
  private def unexplained(origin: Origin): String = (origin.sqlText, origin.startIndex) match {
    case (Some(sql), Some(from)) => sql.substring(from)
    case (sql, _) => sql.getOrElse("")
  }
  private def firstWord(origin: Origin): String = word(text(origin))
  private def word(sql: String): String = sql match {
    case start(found) => found.toUpperCase(java.util.Locale.ROOT)
    case _ => ""
  }

  private def isBoundedScan(options: CaseInsensitiveStringMap): Boolean =
    Set("latest", "latest-offset").exists(_.equalsIgnoreCase(options.get("scan.bounded.mode")))

  /** A table that is read as it is when the statement runs. */
  private object Bounded {
    def unapply(plan: LogicalPlan): Option[ManagedTable] = plan match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, options, _) if isBoundedScan(options) => Some(table)
      case _ => None
    }
  }

  /** A table as it is, and as it will be: no older version of it, no system table. */
  private object Changing {
    def unapply(plan: LogicalPlan): Option[ManagedTable] = plan match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, options, None)
          if !table.reference.isSystemTable && !isBoundedScan(options) => Some(table)
      case _ => None
    }
  }
}

/** Starts the job of an INSERT and answers its id. */
case class StreamingInsert(table: Requests.TableReference, text: String, options: Map[String, String],
    query: LogicalPlan, rules: Seq[LogicalPlan]) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = Seq(AttributeReference("job", StringType, nullable = false)())
  override def innerChildren: Seq[QueryPlan[_]] = query +: rules
  override def simpleString(maxFields: Int): String = s"TableStoreJob ${table.relation.identifier}"
  override protected def stringArgs: Iterator[Any] = Iterator(table.relation.identifier)

  override def run(session: SparkSession): Seq[Row] = {
    val user = session.asInstanceOf[classic.SparkSession]
    val started = PlannerProcess.ask(
      Requests.StartJob(table, StoredQueries.ofInsert(user, text), options, SessionCatalogMirror.isAskedFor))
    if (!started.isHosted) {
      val job = Jobs.start(user, started)
      if (started.waits) Jobs.awaitEnded(java.util.List.of(job.id))
    }
    Seq(Row(started.id))
  }
}
