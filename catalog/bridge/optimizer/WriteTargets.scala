package org.apache.spark.sql.tablestore

import scala.util.Try

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedRelation, UnresolvedStar}
import org.apache.spark.sql.catalyst.expressions.{Alias, Expression, Literal, NamedExpression}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{Column, TableWritePrivilege}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.json4s.jackson.JsonMethods.compact

/** Prepares the targets of write statements before Spark resolves them.
  *
  * An INSERT sees the columns that it may write: no computed columns, and the one that 'change-type-column' names.
  * MERGE and UPDATE see every column. The planner distinguishes the statements by their privileges. */
class WriteTargets(session: SparkSession) extends Rule[LogicalPlan] {
  private val state = session.asInstanceOf[org.apache.spark.sql.classic.SparkSession].sessionState
  private def same(left: String, right: String): Boolean = state.conf.resolver(left, right)

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsDown {
    case insert @ InsertIntoStatement(target: UnresolvedRelation, _, _, query, _, _, _, _, _) =>
      val said = insert.userSpecifiedCols ++ insert.partitionSpec.keys
      if (said.nonEmpty) refuse(said, computed(target))
      changeTypeColumn(target.options.get(WriteTargets.option)).map { column =>
        val static = insert.partitionSpec.collect { case (name, Some(_)) => name }.toList
        val listed = insert.userSpecifiedCols
        if (listed.exists(same(_, column))) insert.copy(table = withColumn(target, column, 0, static))
        else {
          val at = position(query, column)
          insert.copy(table = withColumn(target, column, at, static),
            userSpecifiedCols = if (listed.isEmpty) listed else listed.patch(at, Seq(column), 0))
        }
      }.getOrElse(insert)
    case append @ AppendData(target: UnresolvedRelation, query, options, _, _, _, _) =>
      changeTypeColumn(options.getOrElse(WriteTargets.option, null)).map(column =>
        append.copy(table = withColumn(target, column, position(query, column), Nil))).getOrElse(append)
    case replace @ OverwriteByExpression(target: UnresolvedRelation, condition, _, _, _, _, _, _) =>
      replacing(replace, target, condition)
    case merge: MergeIntoTable if !merge.targetTable.resolved =>
      val found = managed(merge.targetTable)
      val hidden = found.toSeq.flatMap(_._2.computedColumns)
      val actions = merge.matchedActions ++ merge.notMatchedActions ++ merge.notMatchedBySourceActions
      refuse(actions.flatMap {
          case action: UpdateAction => assigned(action.assignments)
          case action: InsertAction => assigned(action.assignments)
          case _ => Nil
        }, hidden)
      val takesAll =
        actions.exists(action => action.isInstanceOf[UpdateStarAction] || action.isInstanceOf[InsertStarAction])
      merge.copy(
        targetTable = merge.targetTable.transform { case target: UnresolvedRelation =>
          target.requireWritePrivileges(TableWritePrivilege.values.toSet)
        },
        matchedActions = ofColumns(merge.matchedActions, found),
        notMatchedBySourceActions = ofColumns(merge.notMatchedBySourceActions, found),
        sourceTable = if (takesAll) withPlaceholders(merge.sourceTable, hidden) else merge.sourceTable
      )
    case update: UpdateTable if !update.table.resolved =>
      refuse(assigned(update.assignments), computed(update.table))
      update
  }

  private def analyzed(plan: LogicalPlan): Option[LogicalPlan] = Try(state.executePlan(plan).analyzed).toOption

  /** The target, if it is a managed table, as Spark finds it. */
  private def managed(target: LogicalPlan): Option[(LogicalPlan, ManagedTable)] =
    analyzed(target).flatMap(found =>
      found.collectFirst { case DataSourceV2Relation(table: ManagedTable, _, _, _, _, _) => found -> table })

  private def computed(target: LogicalPlan): Seq[Column] = managed(target).toSeq.flatMap(_._2.computedColumns)

  private def ofColumns(actions: Seq[MergeAction], target: Option[(LogicalPlan, ManagedTable)]): Seq[MergeAction] =
    target.map(found => new NestedAssignments(found._1, state.conf.resolver).ofColumns(actions)).getOrElse(actions)

  private def assigned(assignments: Seq[Assignment]): Seq[String] = assignments.map(_.key: Expression).collect {
    case UnresolvedAttribute(parts) => parts.last
  }

  private def refuse(names: Seq[String], computed: Seq[Column]): Unit =
    computed.find(column => names.exists(same(_, column.name))).foreach(column =>
      throw Errors.computedColumn(column.name, column.generationExpression))

  /** `SET *` and `INSERT *` take every column of the target from the source; computed columns that the source lacks get
    * placeholders, which are replaced when the columns are computed. */
  private def withPlaceholders(source: LogicalPlan, computed: Seq[Column]): LogicalPlan = {
    val present = if (computed.isEmpty) Nil else analyzed(source).toSeq.flatMap(_.output).map(_.name)
    val absent = computed.filterNot(column => present.exists(same(_, column.name)))
    if (present.isEmpty || absent.isEmpty) source
    else Project(UnresolvedStar(None) +: absent.map(column => Alias(Literal.default(column.dataType), column.name)()),
      source)
  }

  /** A condition on a computed column needs a target with this column; the query gets a placeholder for it. */
  private def replacing(
      replace: OverwriteByExpression, target: UnresolvedRelation, condition: Expression): LogicalPlan = {
    val hidden = computed(target)
    val named = condition.collect { case UnresolvedAttribute(parts) => parts.last }
    (analyzed(target.clearWritePrivileges), analyzed(replace.query)) match {
      case (Some(table), Some(query))
          if hidden.exists(column => named.exists(same(_, column.name))) &&
            (replace.isByName || query.output.size == table.output.size - hidden.size) =>
        val values = query.output.iterator
        val columns: Seq[NamedExpression] = table.output.flatMap(column =>
          if (hidden.exists(other => same(other.name, column.name)))
            Seq(Alias(Literal.default(column.dataType), column.name)())
          else if (replace.isByName) Nil
          else Seq(values.next()))
        replace.copy(table = target.requireWritePrivileges(TableWritePrivilege.values.toSet),
          query = Project(columns ++ (if (replace.isByName) query.output else Nil), query))
      case _ => replace
    }
  }

  private def changeTypeColumn(option: String): Option[String] = Option(option).filter(_.nonEmpty)

  private def position(query: LogicalPlan, column: String): Int = analyzed(query) match {
    case None => 0 // Spark will report what is wrong with the query
    case Some(plan) =>
      val names = plan.output.map(_.name)
      names.indexWhere(same(_, column)) match {
        case -1 => throw Errors.noChangeTypeColumn(column, names)
        case at => at
      }
  }

  private def withColumn(
      target: UnresolvedRelation, column: String, at: Int, static: List[String]): UnresolvedRelation = {
    val name = target.multipartIdentifier.last
    if (name.contains(WriteTargets.separator)) target
    else target.copy(multipartIdentifier = target.multipartIdentifier.init :+ (name + WriteTargets.separator +
      compact(Requests.ChangeType(column, at, static).toJson)))
  }
}

object WriteTargets {
  val option: String = SharedText.name("change-type-column")

  /** Separates a table's name from the JSON of the change type that an INSERT adds; the planner splits them. */
  val separator: String = SharedText.name("change-type-separator")
}
