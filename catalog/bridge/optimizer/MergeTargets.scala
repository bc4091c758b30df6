package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}

/** Leaves out of a MERGE's target, before it is shuffled for the join, the rows that no row of a small source meets.
  *
  * Spark joins `target RIGHT OUTER source`, or `source LEFT ANTI target` where rows are only inserted. Both could only
  * broadcast the target, so that all of a large one is shuffled and sorted for a few rows. A semi-join with the
  * source's keys, which can be broadcast, changes nothing in the result: such joins drop the target's rows without
  * match. The source is read twice, so what of it may differ between two readings is left out: more keys than the
  * source has do no harm, as long as nothing is computed of them that might fail. */
object MergeTargets {
  def narrowed(plan: LogicalPlan, broadcastMax: Long): LogicalPlan = plan.transform {
    case join @ Join(Project(columns, target), source, RightOuter, Some(condition), _) if isTarget(target) =>
      matching(target, source, condition, broadcastMax).map(rows => join.copy(left = Project(columns, rows))).getOrElse(
        join)
    case join @ Join(source, target, LeftAnti, Some(condition), _) if isManaged(target) =>
      matching(target, source, condition, broadcastMax).map(rows => join.copy(right = rows)).getOrElse(join)
  }

  private def isTarget(plan: LogicalPlan): Boolean = scanned(plan).map(_.relation.table).exists {
    case RowLevelOperationTable(table, _) => table.isInstanceOf[ManagedTable]
    case _ => false
  }
  private def isManaged(plan: LogicalPlan): Boolean = scanned(plan).exists(_.relation.table.isInstanceOf[ManagedTable])

  private def scanned(plan: LogicalPlan): Option[DataSourceV2ScanRelation] = plan match {
    case scan: DataSourceV2ScanRelation => Some(scan)
    case Filter(_, child) => scanned(child)
    case Project(columns, child) if columns.forall(_.isInstanceOf[Attribute]) => scanned(child)
    case _ => None
  }

  private def matching(
      target: LogicalPlan, source: LogicalPlan, condition: Expression, max: Long): Option[LogicalPlan] = {
    val needed = (condition.references -- target.outputSet).toSeq
    for {
      keys <- rowsAmong(source, AttributeSet(needed))
      if needed.nonEmpty && !isUnsure(condition) && (keys.isExact || neverFails(condition))
      // Named anew: no attribute may come from both sides of the join that follows.
      named = Project(needed.map(column => Alias(column, column.name)()), keys.plan)
      if named.stats.sizeInBytes <= max && target.stats.sizeInBytes > max
    } yield {
      val renamed = AttributeMap(needed.zip(named.output))
      val meets = condition.transform { case column: Attribute => renamed.getOrElse(column, column) }
      Join(target, named, LeftSemi, Some(meets), JoinHint.NONE)
    }
  }

  /** Rows among which those of a plan are, as far as some columns go; there are no others if `isExact`. */
  private case class Superset(plan: LogicalPlan, isExact: Boolean) {
    def through(wrap: LogicalPlan => LogicalPlan, computed: Iterable[Expression]): Option[Superset] =
      if (computed.exists(isUnsure) || !(isExact || computed.forall(neverFails))) None else Some(copy(wrap(plan)))

    /** Without something above that leaves rows out: the optimiser may have moved what fails on those below it. */
    def widened: Option[Superset] =
      if (plan.exists(_.expressions.exists(!neverFails(_)))) None else Some(copy(isExact = false))
  }

  /** What yields at least the rows of `plan`, with the columns `needed`, each time it is run. */
  private def rowsAmong(plan: LogicalPlan, needed: AttributeSet): Option[Superset] = plan match {
    case _ if !needed.subsetOf(plan.outputSet) => None
    case leaf: LeafNode => if (isSameEachTime(leaf)) Some(Superset(leaf, isExact = true)) else None
    case Project(columns, child) => projected(columns, child, needed)
    case Aggregate(grouping, columns, child, _) if grouping.nonEmpty =>
      val isGrouping = columns.filter(column => needed.contains(column.toAttribute)).forall {
        case Alias(inner, _) => grouping.exists(_.semanticEquals(inner))
        case column => grouping.exists(_.semanticEquals(column))
      }
      if (isGrouping) projected(columns, child, needed) else None
    case Filter(condition, child) =>
      val withIt =
        rowsAmong(child, needed ++ condition.references).flatMap(_.through(Filter(condition, _), Seq(condition)))
      withIt.orElse(rowsAmong(child, needed).flatMap(_.widened))
    case _: GlobalLimit | _: LocalLimit | _: WindowGroupLimit =>
      rowsAmong(plan.children.head, needed).flatMap(_.widened)
    case _: Sort | _: Window => rowsAmong(plan.children.head, needed)
    case join @ Join(left, right, Inner, condition, _) =>
      val wanted = needed ++ condition.toSeq.flatMap(_.references)
      for {
        one <- rowsAmong(left, AttributeSet(wanted.filter(left.outputSet.contains)))
        other <- rowsAmong(right, AttributeSet(wanted.filter(right.outputSet.contains)))
        both <- Superset(one.plan, one.isExact && other.isExact).through(
          rows => join.copy(left = rows, right = other.plan), condition)
      } yield both
    case _ => None
  }

  private def projected(columns: Seq[NamedExpression], child: LogicalPlan, needed: AttributeSet): Option[Superset] = {
    val kept = columns.filter(column => needed.contains(column.toAttribute))
    rowsAmong(child, AttributeSet(kept.flatMap(_.references))).flatMap(_.through(Project(kept, _), kept))
  }

  /** Files that were listed and snapshots; whether other sources give the same rows again, nobody knows. */
  def isSameEachTime(leaf: LeafNode): Boolean = leaf match {
    case _: LocalRelation | _: Range => true
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    case scanned: DataSourceV2ScanRelation => scanned.scan match {
        case _: ManagedScan | _: RowsScan | _: FileScan => true
        case _ => false
      }
    case _ => false
  }

  private def isUnsure(expression: Expression): Boolean =
    !expression.deterministic || SubqueryExpression.hasSubquery(expression)

  /** Whatever the values: a cast may have stood behind a condition that is left out. */
  private def neverFails(expression: Expression): Boolean = !expression.exists {
    case _: Attribute | _: Literal | _: Alias | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull =>
      false
    case cast: Cast => !Cast.canUpCast(cast.child.dataType, cast.dataType)
    case _ => true
  }
}
