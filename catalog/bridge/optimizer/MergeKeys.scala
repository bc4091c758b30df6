package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.LeftAnti
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Whether a MERGE can insert only keys that its target lacks: its ON condition compares the whole key, and nothing
  * else, with the values that are inserted. Otherwise the keys are looked up when the rows are written. */
object MergeKeys {

  /** Whether this holds for a statement as it was analysed, whose plan `RewriteMergeIntoTable` has made. */
  def areAbsent(statement: V2WriteCommand): Boolean = statement match {
    case InsertOnlyMerge(Written(names, key), Project(row, join: Join), _, _) =>
      compares(join, key, Seq(named(names, row.map(MergeUpserts.plain))))
    case InsertOnlyMerge(Written(names, key), MergeRows(_, _, _, inserts, _, _, _, join: Join), _, _) =>
      compares(join, key, inserts.flatMap(_.outputs.headOption).map(row => named(names, row.map(MergeUpserts.plain))))
    case delta: WriteDelta => (delta.table, delta.query, delta.projections.rowProjection) match {
        case (Written(_, key), MergeRows(_, _, _, inserts, _, _, _, join: Join), Some(row)) =>
          val values = inserts.flatMap(_.outputs.headOption).map(outputs => row.colOrdinals.toSeq.map(outputs))
          compares(join, key,
            values.map(value => named(row.schema.fieldNames.toSeq, value.map(MergeUpserts.plain))))
        case _ => false
      }
    case _ => false
  }

  /** Whether the target of a write has a key with the values that the statement gives it; a computed key has not. */
  def isAsGiven(target: LogicalPlan): Boolean = Written.unapply(target).isDefined

  private def compares(join: Join, key: Seq[String], inserted: Seq[Map[String, Expression]]): Boolean = {
    val target = if (join.joinType == LeftAnti) join.right.outputSet else join.left.outputSet
    join.condition.flatMap(MergeUpserts.equalities(_, target)).exists { terms =>
      terms.size == key.size && terms.map(_._1.name).toSet == key.toSet &&
      terms.forall { case (part, value) =>
        MergeUpserts.isComparedAsStored(part) && value.references.intersect(target).isEmpty &&
        inserted.forall(_.get(part.name).exists(_.semanticEquals(value)))
      }
    }
  }

  private def named(names: Seq[String], values: Seq[Expression]): Map[String, Expression] = names.zip(values).toMap

  /** The columns of a write's target, and its key, none of which is computed. */
  private object Written {
    def unapply(relation: LogicalPlan): Option[(Seq[String], Seq[String])] = relation match {
      case DataSourceV2Relation(RowLevelOperationTable(table: ManagedTable, _), _, _, _, _, _) => of(table)
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => of(table)
      case _ => None
    }
    private def of(table: ManagedTable): Option[(Seq[String], Seq[String])] =
      Option.when(!table.computedColumns.exists(column => table.rowId.contains(column.name)))(
        table.schema().fieldNames.toSeq -> table.rowId)
  }
}
