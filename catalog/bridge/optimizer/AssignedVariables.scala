package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, VariableResolution}
import org.apache.spark.sql.catalyst.expressions.Expression
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule

/** Resolves session variables in `UPDATE … SET c = v` and in the assignments of MERGE. Spark 4.2 looks for columns alone
  * there; a column of the name goes first here, too, as everywhere else in a statement. */
class AssignedVariables(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val manager = session.asInstanceOf[classic.SparkSession].sessionState.catalogManager
  private lazy val variables = new VariableResolution(manager.tempVariableManager, manager)

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case update: UpdateTable if update.table.resolved =>
      update.copy(assignments = update.assignments.map(withVariables(_, update)))
    case merge: MergeIntoTable if merge.childrenResolved =>
      def all(actions: Seq[MergeAction]): Seq[MergeAction] = actions.map {
        case action: UpdateAction => action.copy(assignments = action.assignments.map(withVariables(_, merge)))
        case action: InsertAction => action.copy(assignments = action.assignments.map(withVariables(_, merge)))
        case other => other
      }
      merge.copy(
        matchedActions = all(merge.matchedActions),
        notMatchedActions = all(merge.notMatchedActions),
        notMatchedBySourceActions = all(merge.notMatchedBySourceActions)
      )
    case other => other
  }

  private def withVariables(assignment: Assignment, statement: LogicalPlan): Assignment =
    assignment.copy(value = assignment.value.transform {
      case name: UnresolvedAttribute if !isColumn(name, statement) =>
        variables.resolveMultipartName(name.nameParts, false, Nil).getOrElse(name): Expression
    })

  private def isColumn(name: UnresolvedAttribute, statement: LogicalPlan): Boolean =
    statement.children.exists(child => child.resolve(name.nameParts, conf.resolver).nonEmpty)
}
