package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, Row, SparkSession}
import org.apache.spark.sql.catalyst.analysis.AsOfTimestamp
import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeSet}
import org.apache.spark.sql.catalyst.plans.logical.{DeleteFromTable, InsertOnlyMerge, LogicalPlan}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution.command.{DescribeQueryCommand, LeafRunnableCommand}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Lets a statement read tables that hang together at one barrier, which the planner finds.
  *
  * It runs once for a whole plan, with its subqueries and views, after Spark has loaded the newest snapshots. What a
  * statement writes stays as it is: the target of MERGE, UPDATE and DELETE is no plain managed table here, unless the
  * MERGE only inserts, or the DELETE deletes everything. Relations that name a version keep it; so do those of jobs, which name all of them. */
class BarrierReads(session: SparkSession) extends Rule[LogicalPlan] {
  import BarrierReads._

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case delete: DeleteFromTable => delete
    case describe: DescribeQueryCommand =>
      val query = session.asInstanceOf[classic.SparkSession].sessionState.executePlan(describe.plan).analyzed
      val versions = together(query)
      if (versions.isEmpty) describe else DescribedAtBarrier(describe, versions.values.map(_.barrier).toSeq.distinct)
    case merge: InsertOnlyMerge => asOfTimes(pinned(merge, together(merge), merge.table.outputSet))
    case _ => asOfTimes(pinned(plan, together(plan)))
  }

  /** The versions of a plan's tables that hang together, by directory. */
  private def together(plan: LogicalPlan): Map[String, Answers.PinnedTable] = {
    val tables = plan.collectWithSubqueries { case Newest(table) => table.reference }.filter(isConcerned)
    if (tables.isEmpty) Map.empty else PlannerProcess.ask(Requests.ReadTogether(tables.distinct))
  }

  private def isConcerned(table: Requests.TableReference): Boolean =
    settings.exists(confs.settings.containsKey(_)) || catalogOptions.exists(table.relation.catalog.options.contains)

  private def confs = session.asInstanceOf[classic.SparkSession].sessionState.conf

  /** A plan whose newest tables are read at these versions, except the relation with the columns `target`. */
  private def pinned(plan: LogicalPlan, versions: Map[String, Answers.PinnedTable],
      target: AttributeSet = AttributeSet.empty): LogicalPlan =
    if (versions.isEmpty) plan
    else plan.transformWithSubqueries {
      case relation @ Newest(table) if target.isEmpty || relation.outputSet != target => at(relation, table, versions)
    }

  /** A plan that reads several tables AS OF one time, which then is that of the last barrier before it. */
  private def asOfTimes(plan: LogicalPlan): LogicalPlan = {
    val read = plan.collectWithSubqueries { case AsOfTime(table, micros) => micros -> table.reference }.distinct
    val times = read.groupMap(_._1)(_._2).filter(_._2.size > 1)
    if (times.isEmpty) plan
    else {
      val versions = times.map { case (micros, tables) =>
        micros -> PlannerProcess.ask(Requests.ReadTogether(tables, Some(micros)))
      }
      plan.transformWithSubqueries { case relation @ AsOfTime(table, micros) =>
        at(relation, table, versions.getOrElse(micros, Map.empty))
      }
    }
  }

  private def at(
      relation: LogicalPlan, table: ManagedTable, versions: Map[String, Answers.PinnedTable]): LogicalPlan =
    JobTables.pathOf(table).flatMap(versions.get).fold(relation) { at =>
      val known = relation.asInstanceOf[DataSourceV2Relation]
      JobTables.pinned(JobTables.at(known, at.version, Some(at.barrier)))
    }
}

object BarrierReads {
  private val settings = Seq("read-consistency", "read-barrier").map(SharedText.name)
  private val catalogOptions = SharedText.name("catalog-consistency").split(",").toSeq

  /** A managed table that is read as it is when the statement runs. */
  object Newest {
    def unapply(plan: LogicalPlan): Option[ManagedTable] = plan match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, None) if !table.reference.isSystemTable => Some(table)
      case _ => None
    }
  }

  /** A managed table that is read as it was at a time, in microseconds since 1970. */
  private object AsOfTime {
    def unapply(plan: LogicalPlan): Option[(ManagedTable, Long)] = plan match {
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, Some(AsOfTimestamp(micros)))
          if !table.reference.isSystemTable => Some(table -> micros)
      case _ => None
    }
  }
}

/** DESCRIBE QUERY of a query that reads tables at barriers, which its last rows tell. */
case class DescribedAtBarrier(describe: DescribeQueryCommand, barriers: Seq[Long]) extends LeafRunnableCommand {
  override val output: Seq[Attribute] = describe.output
  override def run(session: SparkSession): Seq[Row] =
    describe.run(session) ++ (Row("# Barrier", "", "") +: barriers.sorted.map(number => Row(number.toString, "", "")))
}
