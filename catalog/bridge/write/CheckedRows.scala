package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedExtractValue}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.Filter
import org.apache.spark.sql.classic
import org.apache.spark.sql.types.DataType

/** Rows of a write statement, in which a row that breaks a CHECK constraint is an error. */
object CheckedRows {

  /** The rows of a frame, all of them, under conditions that are a JSON list; a row whose column `kind` (null: there is
    * none) is 1 is to be deleted, and is not looked at. Spark's own error says which constraint a row breaks, and its values. */
  def of(
      frame: classic.DataFrame, names: java.util.List[String], conditions: String, kind: String): classic.DataFrame = {
    val session = frame.sparkSession
    val checks = names.asScala.toSeq.zip(StoredExpressions.read(conditions))
    val plan = StoredExpressions.bySettings(checks)(_._2.settings).foldLeft(frame.queryExecution.analyzed) {
      (rows, group) =>
        val invariants = group.map { case (name, condition) => invariant(session, name, condition, kind) }
        group.head._2.analysed(session, Filter(InPlace(invariants.reduce(And(_, _))), rows))
    }
    classic.Dataset.ofRows(session, plan)
  }

  private def invariant(
      session: classic.SparkSession, name: String, stored: StoredExpression, kind: String): Expression = {
    val condition = stored.parsed(session)
    val child = if (kind == null) condition
    else Or(EqualTo(UnresolvedAttribute.quoted(kind), Literal(1.toByte)), condition)
    CheckInvariant(child, named(condition), name, stored.text)
  }

  /** Why conditions cannot be constraints on rows like those of a frame; null if they can. Spark raises errors of its own
    * for what it cannot resolve. */
  def refusal(frame: classic.DataFrame, names: java.util.List[String], conditions: String): String = {
    val checks = of(frame, names, conditions, null).queryExecution.analyzed.collect {
      case Filter(condition, _) => condition.collect { case check: CheckInvariant => check }
    }.flatten
    checks.collectFirst {
      case check if SubqueryExpression.hasSubquery(check.child) => s"${check.constraintName} has a subquery"
      case check if !check.child.deterministic => s"${check.constraintName} has a function that is not deterministic"
      case check if check.columnExtractors.isEmpty => s"${check.constraintName} names no column"
    }.orNull
  }

  /** The columns and fields in a condition, by their SQL text. */
  private def named(condition: Expression): Seq[(String, Expression)] = condition match {
    case field: UnresolvedExtractValue => Seq(field.sql -> field)
    case column: UnresolvedAttribute => Seq(column.name -> column)
    case other => other.children.flatMap(named).distinctBy(_._1)
  }
}

/** A condition that the optimizer neither moves nor leaves out: the rows below may be more than those that are written.
  */
case class InPlace(child: Expression) extends UnaryExpression with Nondeterministic with Predicate {
  override def dataType: DataType = child.dataType
  override protected def initializeInternal(partition: Int): Unit = ()
  override protected def evalInternal(row: InternalRow): Any = child.eval(row)
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode = child.genCode(context)
  override protected def withNewChildInternal(other: Expression): InPlace = copy(child = other)
}
