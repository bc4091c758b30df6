package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, ExprId}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}

/** From which columns of managed tables the values of a plan's columns come, and which columns decide how many rows
  * there are. Tables are numbered in their order in the plan. */
class ColumnOrigins(plan: LogicalPlan) {
  private type Origins = Set[Requests.ColumnOrigin]
  private var sources = -1
  private var deciding: Origins = Set.empty
  private val known = of(plan)

  /** Of each column of the result. */
  def results: Seq[Seq[Requests.ColumnOrigin]] = plan.output.map(column => known(column.exprId).toSeq)

  /** Those that decide. */
  def conditions: Seq[Requests.ColumnOrigin] = deciding.toSeq

  private def of(node: LogicalPlan): Map[ExprId, Origins] = node match {
    case JobTables.Managed(_) =>
      sources += 1
      node.output.map(column => column.exprId -> Set(Requests.ColumnOrigin(sources, column.name))).toMap
    case union: Union =>
      val columns = union.children.map { child =>
        val below = of(child)
        child.output.map(column => below(column.exprId))
      }
      union.output.map(_.exprId).zip(columns.transpose.map(_.reduce(_ ++ _))).toMap
    case project: Project =>
      val below = of(project.child)
      project.projectList.map(column => column.exprId -> all(column.references, below)).toMap
    case other =>
      val below = other.children.flatMap(of).toMap
      val used = all(other.references, below)
      deciding ++= used
      other.output.map(column => column.exprId -> below.getOrElse(column.exprId, used)).toMap
  }
  private def all(columns: AttributeSet, known: Map[ExprId, Origins]): Origins =
    columns.toSeq.flatMap(column => known.getOrElse(column.exprId, Set.empty[Requests.ColumnOrigin])).toSet
}
