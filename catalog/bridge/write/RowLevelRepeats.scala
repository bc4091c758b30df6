package org.apache.spark.sql.tablestore

import java.util.concurrent.ConcurrentHashMap
import java.util.concurrent.locks.ReentrantLock

import scala.collection.mutable

import org.apache.spark.sql.catalyst.plans.logical.{InsertOnlyMerge, LogicalPlan, V2WriteCommand, WriteDelta}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreeNodeTag
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog.{Identifier, TableCatalog}
import org.apache.spark.sql.connector.write.{RowLevelOperationInfoImpl, RowLevelOperationTable}
import org.apache.spark.sql.execution.CommandExecutionMode
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation

/** Keeps with each UPDATE, DELETE and MERGE how it was analysed, so that it can be planned again. */
object RowLevelStatements extends Rule[LogicalPlan] {
  private val analysed = TreeNodeTag[V2WriteCommand]("table-store.analysed")

  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case statement: WriteDelta => statement.setTagValue(analysed, statement)
      case statement: InsertOnlyMerge => statement.setTagValue(analysed, statement)
      case _ =>
    }
    plan
  }

  /** The statement of a planned write; None if its rows do not depend on its target. */
  def of(write: V2WriteCommand): Option[V2WriteCommand] = write.getTagValue(analysed)
}

/** Repeats a row-level statement whose commit met another one, against the newest snapshots of all that it reads.
  *
  * The whole statement is planned again, so its result is as if it had come later. Repeats of one table take turns
  * within a driver: each of many statements that meet at once succeeds when it is its turn, unless others write
  * meanwhile. */
class RowLevelRepeats(session: classic.SparkSession, statement: V2WriteCommand) {
  import RowLevelRepeats._

  /** What a write gives, or a repeat of its statement.
    *
    * @throws TableStoreException
    *   the conflict, if the table has other columns by now, or others were faster again and again. */
  def orRepeated(write: => Answers.WrittenRows): Answers.WrittenRows =
    try write
    catch { case conflict: TableStoreException if isLost(conflict) => repeated(conflict) }

  private def repeated(conflict: TableStoreException): Answers.WrittenRows = statement.table match {
    case Target(table) =>
      val turn = turns.computeIfAbsent(table.name(), _ => new ReentrantLock(true))
      turn.lockInterruptibly()
      try repeated(conflict, repeats(table))
      finally turn.unlock()
    case _ => throw conflict
  }

  @annotation.tailrec
  private def repeated(conflict: TableStoreException, left: Int): Answers.WrittenRows = {
    if (left == 0) throw conflict
    val again = renewed.getOrElse(throw conflict)
    val execution = session.sessionState.executePlan(again, CommandExecutionMode.SKIP)
    val write = execution.executedPlan.collectFirst { case found: WriteExec => found }.getOrElse(throw conflict)
    val result =
      try Right(write.writeOnce())
      catch { case another: TableStoreException if isLost(another) => Left(another) }
    result match {
      case Right(rows) => rows
      case Left(another) => repeated(another, left - 1)
    }
  }

  /** The statement over the tables as they are now; None if one has other columns. */
  private def renewed: Option[LogicalPlan] = {
    // One load for each table: what a statement reads of its target is what its commit is checked against.
    val loads = mutable.Map.empty[(String, Identifier), Option[ManagedTable]]
    val targets = mutable.Map.empty[RowLevelOperationTable, Option[RowLevelOperationTable]]
    var isSame = true
    def newest(relation: DataSourceV2Relation, old: ManagedTable): Option[ManagedTable] =
      (relation.catalog, relation.identifier) match {
        case (Some(catalog: TableCatalog), Some(name)) =>
          loads.getOrElseUpdate(catalog.name -> name, loaded(catalog, name)).filter(_.columns.toSeq.map(column =>
              column.name -> column.dataType) == old.columns.toSeq.map(column => column.name -> column.dataType))
        case _ => None
      }
    def again(plan: LogicalPlan): LogicalPlan = plan match {
      case relation @ DataSourceV2Relation(target @ RowLevelOperationTable(old: ManagedTable, _), _, _, _, _, _) =>
        val found = targets.getOrElseUpdate(
          target,
          newest(relation, old).map(table =>
            RowLevelOperationTable(table,
              table.newRowLevelOperationBuilder(
                RowLevelOperationInfoImpl(target.operation.command, relation.options)).build()))
        )
        found.fold { isSame = false; relation }(table => relation.copy(table = table))
      case relation @ BarrierReads.Newest(old) =>
        newest(relation.asInstanceOf[DataSourceV2Relation], old).fold { isSame = false; relation: LogicalPlan }(table =>
          relation.asInstanceOf[DataSourceV2Relation].copy(table = table))
      case other => other
    }
    def everywhere(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries { case node => again(node) }
    def target(relation: LogicalPlan): DataSourceV2Relation = again(relation).asInstanceOf[DataSourceV2Relation]
    // A write's target is not among its children.
    val whole = everywhere(statement) match {
      case delta: WriteDelta => delta.copy(table = target(delta.table), originalTable = target(delta.originalTable))
      case merge: InsertOnlyMerge => merge.copy(table = target(merge.table))
      case other => other
    }
    Option.when(isSame)(whole)
  }
}

object RowLevelRepeats {
  private val lost = Seq("COMMIT_CONFLICT", "TABLE_MOVED")
  private val retries = SharedText.name("commit-max-retries")
  private val defaultRetries = SharedText.name("commit-max-retries-default").toInt
  private val turns = new ConcurrentHashMap[String, ReentrantLock]()

  private object Target {
    def unapply(relation: LogicalPlan): Option[ManagedTable] = relation match {
      case DataSourceV2Relation(RowLevelOperationTable(table: ManagedTable, _), _, _, _, _, _) => Some(table)
      case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => Some(table)
      case _ => None
    }
  }

  private def repeats(table: ManagedTable): Int =
    Option(table.properties.get(retries)).map(_.toInt).getOrElse(defaultRetries)

  private def isLost(error: TableStoreException): Boolean = lost.exists(error.is)

  private def loaded(catalog: TableCatalog, name: Identifier): Option[ManagedTable] =
    Some(catalog.loadTable(name)).collect { case table: ManagedTable => table }
}
