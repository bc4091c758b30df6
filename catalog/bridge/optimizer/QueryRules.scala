package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.trees.Origin

/** A line of EXPLAIN: how a node of a query follows the changes of its tables. */
case class QueryRule(text: String, override val children: Seq[LogicalPlan]) extends LogicalPlan {
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = text
  override def verboseString(maxFields: Int): String = text
  override protected def withNewChildrenInternal(changed: IndexedSeq[LogicalPlan]): LogicalPlan =
    copy(children = changed)
}

object QueryRules {

  /** The rules of a query as a tree, if the statement is an EXPLAIN; only then they are worth a request. */
  def explained(session: SparkSession, query: String, origin: Origin, isView: Boolean): Seq[LogicalPlan] =
    if (!origin.sqlText.exists(isExplain.findPrefixOf(_).nonEmpty)) Nil
    else {
      val stored = StoredQueries.of(session.asInstanceOf[classic.SparkSession], query)
      val nodes = PlannerProcess.ask(Requests.ExplainQuery(stored, isView)).nodes.zipWithIndex
      def tree(number: Int): QueryRule = QueryRule(
        nodes(number)._1.text,
        nodes.collect { case (node, child) if node.parent == number => tree(child) })
      Seq(QueryRule("Changes", Seq(tree(0))))
    }

  private val isExplain = """(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*EXPLAIN\b""".r
}
