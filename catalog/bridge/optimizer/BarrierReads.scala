package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Lets a statement read tables that hang together at one barrier, which the planner finds.
  *
  * It runs once for a whole plan, with its subqueries and views, after Spark has loaded the newest snapshots. What a
  * statement writes stays as it is: the target of MERGE, UPDATE and DELETE is no plain managed table here, or that of a
  * DELETE of everything. Relations that name a version keep it; so do those of jobs, which name all of them. */
class BarrierReads(session: SparkSession) extends Rule[LogicalPlan] {
  import BarrierReads._

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case delete: DeleteFromTable => delete
    case _ =>
      val tables = plan.collectWithSubqueries { case Newest(table) => table.reference }.filter(isConcerned)
      if (tables.isEmpty) plan else pinned(plan, PlannerProcess.ask(Requests.ReadTogether(tables.distinct)))
  }

  private def isConcerned(table: Requests.TableReference): Boolean =
    settings.exists(confs.settings.containsKey(_)) || catalogOptions.exists(table.relation.catalog.options.contains)

  private def confs = session.asInstanceOf[classic.SparkSession].sessionState.conf

  private def pinned(plan: LogicalPlan, versions: Map[String, String]): LogicalPlan =
    if (versions.isEmpty) plan
    else plan.transformWithSubqueries { case relation @ Newest(table) =>
      JobTables.pathOf(table).flatMap(versions.get).fold[LogicalPlan](relation)(version =>
        JobTables.pinned(JobTables.at(relation.asInstanceOf[DataSourceV2Relation], version)))
    }
}

object BarrierReads {
  private val settings = Seq("read-consistency", "read-barrier").map(SharedText.name)
  private val catalogOptions = SharedText.name("catalog-consistency").split(",").toSeq

  /** A managed table that is read as it is when the statement runs. */
  private object Newest {
    def unapply(plan: LogicalPlan): Option[ManagedTable] = plan match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, None) if !table.reference.isSystemTable => Some(table)
      case _ => None
    }
  }
}
