package org.apache.spark.sql.tablestore

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan}

/** The nodes of a plan by number, parents before children. */
class PlanNodes(plan: LogicalPlan) {
  private val all: IndexedSeq[LogicalPlan] = {
    def walk(node: LogicalPlan): Seq[LogicalPlan] = node +: node.children.flatMap(walk)
    walk(plan).toIndexedSeq
  }
  def apply(number: Int): LogicalPlan = all(number)

  /** The number of a node's child. */
  def child(number: Int, place: Int): Int =
    number + 1 + all(number).children.take(place).map(PlanNodes.size).sum

  /** The numbers of a node and of all below it. */
  def below(number: Int): Range = number until number + PlanNodes.size(all(number))

  /** What the planner knows of them; tables are numbered in their order. */
  def described: Seq[Requests.QueryNode] = {
    var sources = -1
    def walk(node: LogicalPlan, parent: Int, number: Int): Seq[Requests.QueryNode] = {
      val kind = PlanNodes.kind(node)
      if (kind == "Source") sources += 1
      val own = Requests.QueryNode(
        kind,
        parent,
        if (kind == "Source") Some(sources) else None,
        JobPlan.keys(node).headOption.fold(0)(_.size),
        JobPlan.rounded(node).headOption,
        AggregateState.of(node).map(_.columns.json)
      )
      node.children.foldLeft(Seq(own))((before, child) => before ++ walk(child, number, number + before.size))
    }
    walk(plan, -1, 0)
  }
}

object PlanNodes {
  private def size(node: LogicalPlan): Int = 1 + node.children.map(size).sum

  private def kind(node: LogicalPlan): String = node match {
    case JobTables.Managed(_) => "Source"
    case other if other.expressions.exists(SubqueryExpression.hasSubquery) => "Subquery"
    case join: Join => join.joinType match {
        case _: ExistenceJoin => "Join Existence"
        case joined => s"Join ${joined.sql.toLowerCase(Locale.ROOT).split(' ').map(_.capitalize).mkString(" ")}"
      }
    case other => other.getClass.getSimpleName.stripSuffix("$")
  }
}
