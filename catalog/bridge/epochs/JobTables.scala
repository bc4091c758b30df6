package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.analysis.AsOfVersion
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.json4s.JString

/** The tables that a job's query reads, and the versions at which it reads them. */
object JobTables {

  /** A plan over other versions of tables, by their directories; 0 before the first. Those that are read AS OF a version
    * stay as they are. */
  def at(plan: LogicalPlan, versions: Map[String, String]): LogicalPlan = plan.transformWithSubqueries {
    case relation @ DataSourceV2Relation(table: ManagedTable, _, _, _, _, None) =>
      pathOf(table).flatMap(versions.get).fold[LogicalPlan](relation)(at(relation, _))
  }

  def pathOf(table: ManagedTable): Option[String] = table.reference.handle \ "path" match {
    case JString(path) => Some(path)
    case _ => None
  }

  /** A table at another version; 0 before the first. */
  def at(relation: DataSourceV2Relation, version: String, barrier: Option[Long] = None): DataSourceV2Relation =
    if (version == relation.table.version() && barrier.isEmpty) relation
    else relation.table match {
      case table: ManagedTable => relation.copy(table = table.at(Some(version).filter(_ != "0"), barrier))
      case other => throw new IllegalStateException(s"${other.name} is no managed table")
    }

  /** A plan that reads each table at the version with which it was loaded. */
  def pinned(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries { case Pinned(pinned) => pinned }

  object Managed {
    def unapply(node: LogicalPlan): Option[ManagedTable] = node match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => Some(table)
      case _ => None
    }
  }

  /** A table at the version with which it was loaded. */
  object Pinned {
    def unapply(node: LogicalPlan): Option[LogicalPlan] = node match {
      case relation @ DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => Some(table.version() match {
          case null => LocalRelation(relation.output, Nil)
          // Without it Spark loads the newest snapshot once more when the plan runs.
          case version => relation.copy(timeTravelSpec = Some(AsOfVersion(version)))
        })
      case _ => None
    }
  }
}
