package org.apache.spark.sql.tablestore

import scala.util.Try

import org.apache.spark.sql.{Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.ResolvedTable
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{Identifier, TableChange}
import org.apache.spark.sql.execution.SparkSqlParser
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Gives CHECK and NOT NULL that are added to a managed table to the planner.
  *
  * Spark would look at the rows first and then have a CHECK recorded: rows that are committed in between are never
  * looked at, and its error names no row. SET NOT NULL it refuses whatever the rows are. */
object TableRules extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case AddCheckConstraint(rows, check) if plan.resolved =>
      rows.collectFirst {
        case DataSourceV2Relation(_: ManagedTable, _, Some(catalog: TableStoreCatalog), Some(name), _, _) =>
          AlterManagedTable(catalog, name, Seq(TableChange.addConstraint(check.toV2Constraint, null)))
      }.getOrElse(plan)
    case alter @ AlterColumns(ResolvedTable(catalog: TableStoreCatalog, name, _: ManagedTable, _), columns)
        if alter.resolved && columns.exists(_.newNullability.contains(false)) =>
      AlterManagedTable(catalog, name, alter.changes)
    case other => other
  }
}

/** ALTER TABLE whose changes the planner checks. */
case class AlterManagedTable(catalog: TableStoreCatalog, table: Identifier, changes: Seq[TableChange])
    extends LeafRunnableCommand {
  override def run(session: SparkSession): Seq[Row] = {
    catalog.alterTable(table, changes: _*)
    Nil
  }
}

/** ALTER TABLE … ADD or DROP CONSTRAINT as Delta's parser reads it, which takes every such statement for one of Delta's,
  * and as Spark's does. Which is right depends on the table. */
case class ConstraintStatement(child: LogicalPlan, ofDelta: LogicalPlan, ofSpark: LogicalPlan) extends UnaryCommand {
  override def innerChildren: Seq[LogicalPlan] = Nil
  override protected def stringArgs: Iterator[Any] = Iterator(child)
  override protected def withNewChildInternal(other: LogicalPlan): ConstraintStatement = copy(child = other)
}

object ConstraintStatement extends Rule[LogicalPlan] {
  private val deltas = Set("AlterTableAddConstraint", "AlterTableDropConstraint")

  def of(plan: LogicalPlan, sql: String): LogicalPlan =
    if (!deltas(plan.getClass.getSimpleName)) plan
    else Try(new SparkSqlParser().parsePlan(sql)).map(ConstraintStatement(plan.children.head, plan, _)).getOrElse(plan)

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case ConstraintStatement(ResolvedTable(_, _, _: ManagedTable, _), _, ofSpark) =>
      ofSpark match { // of which Spark would say that it is an internal error
        case AddCheckConstraint(_, check) if check.exists(_.isInstanceOf[SubqueryExpression]) =>
          throw Errors.subqueryInCheck(check.name)
        case other => other
      }
    case ConstraintStatement(child, ofDelta, _) if child.resolved => ofDelta
    case other => other
  }
}
