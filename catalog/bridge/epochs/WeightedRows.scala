package org.apache.spark.sql.tablestore

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{Expand, LogicalPlan, Project, Union}
import org.apache.spark.sql.types.IntegerType

/** Rows that stand for a node of a plan, each of which comes (1) or goes (-1), so that both kinds are computed at once.
  *
  * @param plan
  *   has the node's output
  * @param weight
  *   the column that says it; None if all rows come
  */
case class WeightedRows(plan: LogicalPlan, weight: Option[Attribute]) {

  /** The rows of a node that has these as one of its children already, and whose rows follow from each of them alone. */
  def through(node: LogicalPlan): WeightedRows = weight.fold(copy(plan = node)) { own =>
    copy(plan = node match {
      case project: Project => project.copy(projectList = project.projectList :+ own)
      case expand: Expand =>
        expand.copy(projections = expand.projections.map(_ :+ own), output = expand.output :+ own)
      case other => other
    })
  }

  /** What stands for a union if these rows stand for one of its children and the others are empty. */
  def through(union: Union): WeightedRows =
    copy(plan = Project(WeightedRows.renamed(plan.output, union.output) ++ weight, plan))

  /** The output's columns by position, and the weight behind them. */
  def byPosition: LogicalPlan = {
    val columns = plan.output.filterNot(column => weight.exists(_.exprId == column.exprId))
    Project(columns.zipWithIndex.map { case (column, at) => Alias(column, s"c$at")() } ++ weight, plan)
  }
}

object WeightedRows {

  /** As `difference.WEIGHT` of the planner. */
  private val name = "__weight"

  /** A frame whose columns stand by position for those of a node; the weight is one more column behind them. */
  def of(frame: classic.DataFrame, output: Seq[Attribute]): WeightedRows = {
    val rows = frame.queryExecution.analyzed
    val weight = rows.output.lift(output.size).map(own => Alias(own, name)())
    WeightedRows(Project(renamed(rows.output, output) ++ weight, rows), weight.map(_.toAttribute))
  }

  /** Columns under the attributes of a node that they stand for, by position. */
  def renamed(columns: Seq[Attribute], output: Seq[Attribute]): Seq[NamedExpression] =
    output.zip(columns).map { case (column, own) => Alias(own, column.name)(exprId = column.exprId) }

  /** The same rows, each with what `sign` makes of its weight in the column `into`. */
  def signed(frame: classic.DataFrame, output: Seq[Attribute], sign: Int, into: AttributeReference): LogicalPlan = {
    val rows = of(frame, output)
    val weight = rows.weight.fold[Expression](Literal(sign))(own => Multiply(own, Literal(sign)))
    Project(output :+ Alias(weight, into.name)(exprId = into.exprId), rows.plan)
  }
  def weight: AttributeReference = AttributeReference(name, IntegerType, nullable = false)()
}
