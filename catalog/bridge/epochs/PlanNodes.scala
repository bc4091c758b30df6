package org.apache.spark.sql.tablestore

import java.util.Locale

import org.apache.spark.sql.catalyst.expressions.{Alias, Attribute, Expression, ExprId, SubqueryExpression}
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.ExistenceJoin
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Join, LogicalPlan}

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
        AggregateState.of(node).map(_.columns.json),
        keyColumns(number)
      )
      node.children.foldLeft(Seq(own))((before, child) => before ++ walk(child, number, number + before.size))
    }
    walk(plan, -1, 0)
  }

  /** Of each key of a node the columns of tables below it that have the key's value, be it because a join lets them. */
  private def keyColumns(number: Int): Seq[Seq[Requests.ColumnOrigin]] = {
    val keys = JobPlan.keys(all(number))
    lazy val same = PlanNodes.same(below(number).map(all))
    def columns(key: Expression): Seq[Requests.ColumnOrigin] = key match {
      case column: Attribute =>
        val equal = same(column.exprId)
        below(number).flatMap(at => columnsOf.getOrElse(at, Nil).filter { case (id, _) => same(id) == equal }).map(_._2)
      case _ => Nil
    }
    keys.transpose.map(_.flatMap(columns).distinct)
  }

  /** The columns of each table, by the number of its node. */
  private lazy val columnsOf: Map[Int, Seq[(ExprId, Requests.ColumnOrigin)]] = {
    val tables = all.indices.filter(at => PlanNodes.kind(all(at)) == "Source")
    tables.zipWithIndex.map { case (at, source) =>
      at -> all(at).output.map(column => column.exprId -> Requests.ColumnOrigin(source, column.name))
    }.toMap
  }
}

object PlanNodes {

  /** Gives columns that have the same value in each row of some nodes, NULL aside, the same number. */
  private def same(nodes: Seq[LogicalPlan]): ExprId => ExprId = {
    val pairs = nodes.flatMap {
      case ExtractEquiJoinKeys(_, left, right, _, _, _, _, _) => left.zip(right)
      case node => node.expressions.collect { case alias: Alias => alias.toAttribute -> alias.child }
    }.collect { case (one: Attribute, other: Attribute) => one.exprId -> other.exprId }
    val known = pairs.foldLeft(Map.empty[ExprId, ExprId]) { case (found, (one, other)) =>
      val (from, to) = (found.getOrElse(one, one), found.getOrElse(other, other))
      found.map { case (column, first) => column -> (if (first == from) to else first) } + (from -> to)
    }
    column => known.getOrElse(column, column)
  }
  private def size(node: LogicalPlan): Int = 1 + node.children.map(size).sum

  private def kind(node: LogicalPlan): String = node match {
    case JobTables.Managed(_) => "Source"
    case other if other.expressions.exists(SubqueryExpression.hasSubquery) => "Subquery"
    case join: Join => join.joinType match {
        case _: ExistenceJoin => "Join Existence"
        case joined => s"Join ${joined.sql.toLowerCase(Locale.ROOT).split(' ').map(_.capitalize).mkString(" ")}"
      }
    case aggregate: Aggregate if JobPlan.hasSessions(aggregate) => "SessionWindow"
    case other => other.getClass.getSimpleName.stripSuffix("$")
  }
}
