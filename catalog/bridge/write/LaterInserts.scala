package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.plans.logical.{AppendData, LogicalPlan, Union, V2WriteCommand}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag

/** Marks the INSERT OVERWRITEs of `FROM … INSERT … INSERT …` behind another write of their table. Spark runs the parts
  * one after the other, and each is a commit: a marked one replaces what is there by then. */
object LaterInserts extends Rule[LogicalPlan] {
  private val later = TreeNodeTag[Unit]("table-store.later-insert")

  def is(write: V2WriteCommand): Boolean = write.getTagValue(later).isDefined

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case Union(parts, _, _) =>
        val writes = parts.collect { case write: V2WriteCommand => write -> written(write) }
        writes.zipWithIndex.foreach {
          case ((overwrite, Some(table)), i)
              if !overwrite.isInstanceOf[AppendData] && writes.take(i).exists(_._2.contains(table)) =>
            if (reads(overwrite.query, table)) throw Errors.overwrittenAgain(overwrite.table.name)
            overwrite.setTagValue(later, ())
          case _ =>
        }
      case _ =>
    }
    plan
  }

  private def written(write: V2WriteCommand): Option[String] =
    Some(write.table).collect { case JobTables.Managed(table) => table }.flatMap(JobTables.pathOf)

  private def reads(query: LogicalPlan, table: String): Boolean =
    query.collectWithSubqueries { case JobTables.Managed(read) => JobTables.pathOf(read) }.flatten.contains(table)
}
