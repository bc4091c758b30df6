package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Cast, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Computes the computed columns of tables whose rows a connector makes, which fills only the others. */
class ConnectorColumns(session: SparkSession) extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case relation @ DataSourceV2Relation(table: ManagedTable, output, _, _, _, _)
        if table.isExternal && table.computedColumns.exists(column => output.exists(_.name == column.name)) =>
      val expressions = table.computedColumns.map(column => column.name -> column.generationExpression).toMap
      val read = output.filterNot(column => expressions.contains(column.name))
      Project(output.map(column => expressions.get(column.name).fold[NamedExpression](column)(value(column, _))),
        relation.copy(output = read))
  }

  /** A column under the id by which the plan above knows it. */
  private def value(column: Attribute, expression: String): Alias = {
    val parsed = session.asInstanceOf[classic.SparkSession].sessionState.sqlParser.parseExpression(expression)
    Alias(Cast(parsed, column.dataType), column.name)(exprId = column.exprId, qualifier = column.qualifier)
  }
}
