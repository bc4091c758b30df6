package org.apache.spark.sql.tablestore

import scala.util.Try

import org.apache.spark.sql.catalyst.analysis.{Resolver, UnresolvedAttribute}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.types.{DataType, StructType}

/** Makes `UPDATE SET t.s.a = v` in a MERGE an assignment of the column `t.s`, as Spark does itself as soon as all types
  * are settled. Before that, the extension of Delta 4.4 refuses keys that are no columns, whatever the table is. */
class NestedAssignments(target: LogicalPlan, resolver: Resolver) {
  def ofColumns(actions: Seq[MergeAction]): Seq[MergeAction] = actions.map {
    case update: UpdateAction => update.copy(assignments = ofColumns(update))
    case other => other
  }

  private def ofColumns(update: UpdateAction): Seq[Assignment] = {
    val places = update.assignments.map(place)
    update.assignments.zip(places).flatMap {
      case (assignment, None) => Some(assignment)
      case (assignment, Some(one)) =>
        val all = places.flatten.filter(_.column.exprId == one.column.exprId)
        val name = one.column.qualifier :+ one.column.name
        if (!isDefinite(all)) Some(assignment)
        else Option.when(all.head eq one)(
          Assignment(UnresolvedAttribute(name), rebuilt(name, one.column.dataType, all.map(_.inside))))
    }
  }

  /** A column, the names of the fields inside that lead to what is assigned, and its value. */
  private case class Place(column: AttributeReference, path: Seq[String], value: Expression) {
    def inside: (Seq[String], Expression) = path -> value
  }

  private def place(assignment: Assignment): Option[Place] = assignment.key match {
    case UnresolvedAttribute(parts) =>
      Try(target.resolve(parts, resolver)).toOption.flatten.flatMap {
        case Alias(field, _) => place(field, Nil, assignment.value)
        case column => place(column, Nil, assignment.value)
      }
    case _ => None
  }

  private def place(key: Expression, path: Seq[String], value: Expression): Option[Place] = key match {
    case column: AttributeReference => Some(Place(column, path, value))
    case field: GetStructField => place(field.child, field.extractFieldName +: path, value)
    case _ => None
  }

  /** Whether fields of a column are assigned, and nothing twice; for the rest Spark has its errors. */
  private def isDefinite(places: Seq[Place]): Boolean =
    places.forall(_.path.nonEmpty) && !places.map(_.path).combinations(2).exists(pair =>
      pair.head.startsWith(pair.last) || pair.last.startsWith(pair.head))

  private def rebuilt(name: Seq[String], kind: DataType, values: Seq[(Seq[String], Expression)]): Expression =
    (values, kind) match {
      case (Seq((Nil, value)), _) => value
      case (inside, StructType(fields)) if inside.nonEmpty =>
        CreateNamedStruct(fields.toSeq.flatMap { field =>
          val own = inside.collect { case (head +: rest, value) if head == field.name => rest -> value }
          Seq(Literal(field.name), rebuilt(name :+ field.name, field.dataType, own))
        })
      case _ => UnresolvedAttribute(name)
    }
}
