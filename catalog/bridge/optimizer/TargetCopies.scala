package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Makes plain reads of the copies of a statement's target that Spark adds to its plan.
  *
  * `UPDATE t SET total = (SELECT sum(s.n) FROM t AS s WHERE s.id <= t.id)`: for a subquery that an inequality ties to
  * the row, Spark joins it with the distinct values of the rows, for which it copies what is left of the join. Of
  * the targets of a statement Spark allows only one, and fails. The first one is it: every copy is right of it. */
object TargetCopies extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case write: WriteDelta if write.query.collect { case Target(_) => () }.size > 1 =>
      var isFirst = true
      write.mapChildren(_.transform {
        case target @ Target(table) =>
          val kept = if (isFirst) target else target.copy(table = table)
          isFirst = false
          kept
      })
    case other => other
  }

  private object Target {
    def unapply(relation: DataSourceV2Relation): Option[ManagedTable] = relation.table match {
      case RowLevelOperationTable(table: ManagedTable, _) => Some(table)
      case _ => None
    }
  }
}
