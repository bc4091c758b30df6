package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftAnti, LeftSemi, RightOuter}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.connector.write.RowLevelOperationTable
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2ScanRelation, FileScan}

/** Filters a MERGE's target, before it is shuffled for the join, to the rows that match a row of a small source.
  *
  * Spark joins `target RIGHT OUTER source`, or `source LEFT ANTI target` if rows are only inserted. Both could
  * broadcast only the target, so a large target is shuffled and sorted as a whole for a few rows of the source. A
  * semi-join of the target with the source's keys, which can be broadcast, does not change the result, because these
  * joins drop target rows without match. The source is read twice; parts of its plan that may differ between two
  * reads, such as limits and non-deterministic filters, are left out. More keys than the source has do no harm,
  * unless an expression on them may fail. */
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
      // With new attribute ids, because no attribute may come from both sides of the following join.
      named = Project(needed.map(column => Alias(column, column.name)()), keys.plan)
      if named.stats.sizeInBytes <= max && target.stats.sizeInBytes > max
    } yield {
      val renamed = AttributeMap(needed.zip(named.output))
      val meets = condition.transform { case column: Attribute => renamed.getOrElse(column, column) }
      Join(target, named, LeftSemi, Some(meets), JoinHint.NONE)
    }
  }

  /** A plan whose rows include those of another plan, in some of its columns; if `isExact`, it has no other rows. */
  private case class Superset(plan: LogicalPlan, isExact: Boolean) {
    def through(wrap: LogicalPlan => LogicalPlan, computed: Iterable[Expression]): Option[Superset] =
      if (computed.exists(isUnsure) || !(isExact || computed.forall(neverFails))) None else Some(copy(wrap(plan)))

    /** The rows without a filter above them. The optimizer may have moved expressions below this filter that fail on
      * the rows it drops, so plans with expressions that may fail are excluded. */
    def widened: Option[Superset] =
      if (plan.exists(_.expressions.exists(!neverFails(_)))) None else Some(copy(isExact = false))
  }

  /** A plan that yields at least the rows of `plan`, with the columns `needed`, each time it is run. */
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

  /** Whether the leaf gives the same rows again: listed files and snapshots do; of other sources it is unknown. */
  def isSameEachTime(leaf: LeafNode): Boolean = leaf match {
    case _: LocalRelation | _: HeldRows | _: Range => true
    case relation: LogicalRelation => relation.relation.isInstanceOf[HadoopFsRelation]
    case scanned: DataSourceV2ScanRelation => scanned.scan match {
        case _: ManagedScan | _: RowsScan | _: FileScan => true
        case _ => false
      }
    case _ => false
  }

  private def isUnsure(expression: Expression): Boolean =
    !expression.deterministic || SubqueryExpression.hasSubquery(expression)

  /** Whether the expression cannot fail for any values: a condition that guarded a cast may have been left out. */
  private def neverFails(expression: Expression): Boolean = !expression.exists {
    case _: Attribute | _: Literal | _: Alias | _: BinaryComparison | _: And | _: Or | _: Not | _: IsNull | _: IsNotNull =>
      false
    case cast: Cast => !Cast.canUpCast(cast.child.dataType, cast.dataType)
    case _ => true
  }
}
