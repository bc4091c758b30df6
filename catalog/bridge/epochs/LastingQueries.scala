package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate.V2Aggregator
import org.apache.spark.sql.catalyst.expressions.objects.InvokeLike
import org.apache.spark.sql.catalyst.optimizer.{ComputeCurrentTime, SpecialDatetimeValues}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, View}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Analysed queries that mean the same for as long as their names stand for the same managed tables with the same
  * columns: they need not be analysed again to be read at other versions of these. */
object LastingQueries {
  def isLasting(analysed: LogicalPlan): Boolean =
    analysed.collectWithSubqueries { case node => node }.forall(node =>
      isLastingNode(node) && node.expressions.forall(!_.exists(!isBuiltIn(_)))) && !dependsOnTime(analysed)

  /** Anybody may give a view another query; a function in SQL is a node of `analysis`. */
  private def isLastingNode(node: LogicalPlan): Boolean = node match {
    case _: View => false
    case DataSourceV2Relation(_: ManagedTable, _, _, _, _, travels) => travels.isEmpty
    case leaf if leaf.children.isEmpty => JobQuery.isConstant(leaf)
    case other => other.getClass.getName.startsWith("org.apache.spark.sql.catalyst.plans.")
  }

  /** Anybody may put another function under the name of one that is not Spark's own. */
  private def isBuiltIn(expression: Expression): Boolean = expression match {
    case _: UserDefinedExpression | _: PythonFuncExpression | _: InvokeLike | _: ApplyFunctionExpression |
        _: V2Aggregator[_, _] => false
    case _: ExactSum => true
    case other => other.getClass.getName.startsWith("org.apache.spark.sql.catalyst.expressions.")
  }

  /** Whether Spark computes a part of it from the time of the analysis. */
  private def dependsOnTime(analysed: LogicalPlan): Boolean =
    !SpecialDatetimeValues(ComputeCurrentTime(analysed)).fastEquals(analysed)
}
