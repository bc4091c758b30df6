package org.apache.spark.sql.tablestore

import scala.util.DynamicVariable
import scala.util.control.NonFatal

import org.apache.spark.sql.{classic, AnalysisException, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, Expression}
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf

/** Computes the computed columns of tables whose rows a connector makes, which fills only the others. Where Spark itself
  * reads the rows, what it reads takes the place of the table; in a job's query that is a range of a stream. */
class ConnectorColumns(session: SparkSession) extends Rule[LogicalPlan] {
  private def classicSession = session.asInstanceOf[classic.SparkSession]

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case DataSourceV2Relation(table: ManagedTable, output, _, _, _, time)
        if table.isReadBySpark && !isFollowed(table, plan) =>
      if (time.nonEmpty || table.version() != null)
        throw Errors.withoutVersions(table.name(), "a table that Spark reads elsewhere")
      in(table, output, readBySpark(table))
    case DataSourceV2Relation(table: ManagedTable, output, _, _, _, Some(_)) if table.isStream =>
      in(table, output, rangeOf(table))
    case relation @ DataSourceV2Relation(table: ManagedTable, output, _, _, _, _)
        if table.isExternal && table.computedColumns.exists(column => output.exists(_.name == column.name)) =>
      val expressions = computed(table)
      val read = relation.copy(output = output.filterNot(column => expressions.contains(column.name)))
      // The settings under which expressions are analysed do not say that a job follows the table.
      ConnectorColumns.ofJob(withComputed(output, expressions, read))
  }

  /** Whether the plan is that of a job, which has the table where it stands, to read ranges of it. */
  private def isFollowed(table: ManagedTable, plan: LogicalPlan): Boolean = table.isStream &&
    (ConnectorColumns.isOfJob(conf) || StreamingStatements.isInsert(plan, conf))

  /** What Spark reads in the place of a table with some of its columns. */
  private def in(table: ManagedTable, output: Seq[Attribute], rows: LogicalPlan): LogicalPlan = {
    val expressions = computed(table)
    val read = output.filterNot(column => expressions.contains(column.name))
    val values = read.map { column =>
      val value = found(rows, table, column)
      as(column, if (column.nullable) value else AssertNotNull(value, Seq(s"column ${column.name}")))
    }
    withComputed(output, expressions, Project(values, rows))
  }

  private def rangeOf(table: ManagedTable): LogicalPlan = {
    val known = PlannerProcess.ask(Requests.FindSparkStream(table.reference))
    try DataSourceV2Relation.create(new StreamRangeTable(classicSession, known, table.name()), None, None)
    catch {
      case NonFatal(error) => throw Errors.unreadableSource(table.name(), known.format, SparkStreams.said(known, error))
    }
  }

  private def computed(table: ManagedTable): Map[String, StoredExpression] = table.computedExpressions

  private def withComputed(
      output: Seq[Attribute], expressions: Map[String, StoredExpression], rows: LogicalPlan): LogicalPlan = {
    val computed = output.flatMap(column => expressions.get(column.name).map(column -> _))
    val values = StoredExpressions.bySettings(computed)(_._2.settings).foldLeft(rows) { (below, group) =>
      val more = group.map { case (column, expression) => as(column, expression.parsed(classicSession)) }
      group.head._2.analysed(classicSession, Project(below.output ++ more, below))
    }
    if (computed.isEmpty) rows else Project(output, values)
  }

  /** A value under the id by which the plan above knows the column. */
  private def as(column: Attribute, value: Expression): Alias =
    Alias(Cast(value, column.dataType), column.name)(exprId = column.exprId, qualifier = column.qualifier)

  private def readBySpark(table: ManagedTable): LogicalPlan = {
    val read = PlannerProcess.ask(Requests.FindSparkRead(table.reference))
    try session.read.format(read.format).options(read.options).load()
        .asInstanceOf[classic.DataFrame].queryExecution.analyzed
    catch {
      case known: AnalysisException => throw known
      case NonFatal(error) =>
        val said = Option(error.getMessage).getOrElse(error.getClass.getName).linesIterator.next().stripSuffix(".")
        val shown = read.secret.map(read.options).foldLeft(said)(_.replace(_, "*********(redacted)"))
        throw Errors.unreadableSource(table.name(), read.format, shown)
    }
  }

  private def found(rows: LogicalPlan, table: ManagedTable, column: Attribute): Attribute =
    rows.output.find(_.name == column.name)
      .orElse(rows.output.find(other => classicSession.sessionState.conf.resolver(other.name, column.name)))
      .getOrElse(throw Errors.missingColumn(table.name(), column.name, rows.output.map(_.name)))
}

object ConnectorColumns {

  /** A setting of sessions in which queries of jobs are analysed. */
  private val ofJobs = "spark.table-store.of-jobs"
  private val isInJob = new DynamicVariable(false)

  /** Analyses what is to be the query of a job. */
  def ofJob[T](analysed: => T): T = isInJob.withValue(true)(analysed)
  def markOfJobs(conf: SQLConf): Unit = conf.setConfString(ofJobs, "true")
  private def isOfJob(conf: SQLConf): Boolean = isInJob.value || conf.contains(ofJobs)
}
