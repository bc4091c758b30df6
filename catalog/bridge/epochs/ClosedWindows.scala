package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.Inner
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{MetadataBuilder, StructType, TimestampNTZType, TimestampType}

/** Queries over windows of event time that can be cut to the windows that end in a stretch of time: each row of their
  * result comes from one window, by the end of which an aggregate groups. Times are microseconds since 1970. */
object ClosedWindows {
  private val mark = "table-store.window-end"

  /** What the end of a window carries, also under another name. */
  val endMark: org.apache.spark.sql.types.Metadata = new MetadataBuilder().putBoolean(mark, value = true).build()

  /** A column of a table by whose values rows are in windows. */
  case class Time(path: String, column: String)

  /** Whose values decide in which windows a row is; or why the query cannot be cut. */
  def times(plan: LogicalPlan): Either[String, Seq[Time]] = {
    val found = aggregates(plan)
    val missing = found.collectFirst { case Left(problem) => problem }
    missing.toLeft(found.collect { case Right(aggregate) => timeOf(aggregate) }).flatMap { times =>
      if (times.forall(_.nonEmpty)) Right(times.flatten.distinct)
      else Left("the bounds of its windows do not follow from a column of a table alone, as those of TUMBLE, HOP, " +
        "CUMULATE and window() do")
    }
  }

  /** The aggregates of a query that group rows by windows, or what does not leave the windows apart. */
  private def aggregates(plan: LogicalPlan): Seq[Either[String, Aggregate]] = plan match {
    case Project(_, child) => aggregates(child)
    case Filter(_, child) => aggregates(child)
    case union: Union => union.children.flatMap(aggregates)
    case window: Window if window.partitionSpec.exists(endOf(_).nonEmpty) => aggregates(window.child)
    case aggregate: Aggregate if lacksEnd(aggregate) => Seq(Left("some of its grouping sets lack the window's end"))
    case aggregate: Aggregate if aggregate.groupingExpressions.exists(endOf(_).nonEmpty) => Seq(Right(aggregate))
    case _: Aggregate => Seq(Left("an aggregate has neither window_end nor window() in its GROUP BY"))
    case leaf if leaf.children.isEmpty => Seq(Left("there are rows that no GROUP BY has put into windows"))
    case other => Seq(Left(s"its ${other.nodeName} does not leave the windows apart"))
  }

  /** Whether a set of GROUPING SETS, ROLLUP or CUBE, for which rows are expanded, has all windows together. */
  private def lacksEnd(aggregate: Aggregate): Boolean = {
    val ends = AttributeSet(aggregate.groupingExpressions.filter(endOf(_).nonEmpty))
    aggregate.child.exists {
      case Expand(projections, output, _) => output.indices.exists(place =>
          ends.contains(output(place)) && projections.exists(_(place) match {
            case Literal(value, _) => value == null
            case _ => false
          }))
      case _ => false
    }
  }

  /** The plan with the windows that end after `after`, if there is one, and not after `until`. */
  def cut(plan: LogicalPlan, after: Option[Long], until: Long): LogicalPlan = plan match {
    case aggregate: Aggregate =>
      val end = aggregate.groupingExpressions.flatMap(endOf(_)).head
      val bounds =
        LessThanOrEqual(end, literal(until, end)) +: after.map(time => GreaterThan(end, literal(time, end))).toSeq
      val rows = after.fold(aggregate.child)(time => pruned(aggregate, time))
      aggregate.copy(child = Filter(bounds.reduce(And), rows))
    case other => other.withNewChildren(other.children.map(cut(_, after, until)))
  }

  /** What rows of an aggregate's child have for the end of their window. */
  def ended(aggregate: Aggregate, until: Long): Expression = {
    val end = aggregate.groupingExpressions.flatMap(endOf(_)).head
    LessThanOrEqual(end, literal(until, end))
  }

  private def literal(time: Long, end: Expression): Literal = Literal(time, end.dataType)

  private def endOf(key: Expression): Option[Expression] = key match {
    case column: Attribute if column.metadata.contains(mark) => Some(column)
    case column: Attribute if column.metadata.contains(TimeWindow.marker) =>
      column.dataType match {
        case struct: StructType if struct.fieldNames.contains("end") =>
          Some(GetStructField(column, struct.fieldIndex("end"), Some("end")))
        case _ => None
      }
    case _ => None
  }

  /** What columns below a node are made of. */
  private def made(plan: LogicalPlan): Map[ExprId, Expression] = plan.collect {
    case Project(columns, _) => columns.collect { case Alias(value, _) => value }
        .zip(columns.collect { case alias: Alias => alias.exprId }).map(_.swap)
    case Expand(projections, output, _) => output.zip(projections.head).collect {
        case (column, value) if !column.semanticEquals(value) => column.exprId -> value
      }
  }.flatten.toMap

  /** The struct of which the bounds of windows are. */
  private def bounds(value: Expression, made: Map[ExprId, Expression]): Option[CreateNamedStruct] = value match {
    case struct: CreateNamedStruct => Some(struct)
    case column: Attribute => made.get(column.exprId).flatMap(bounds(_, made))
    case GetStructField(struct, _, _) => bounds(struct, made)
    case Alias(inner, _) => bounds(inner, made)
    case KnownNullable(inner) => bounds(inner, made)
    case _ => None
  }

  /** The struct of an aggregate's windows, and the column from which it is made. */
  private def windowed(aggregate: Aggregate): Option[(CreateNamedStruct, Attribute)] = {
    val known = made(aggregate.child)
    for {
      struct <- aggregate.groupingExpressions.flatMap(endOf(_)).headOption.flatMap(bounds(_, known))
      column <- struct.collect { case PreciseTimestampConversion(time, TimestampType | TimestampNTZType, _) => time }
        .distinctBy(_.canonicalized) match {
        case Seq(column: Attribute) => Some(root(column, known))
        case _ => None
      }
    } yield (struct, column)
  }
  private def root(column: Attribute, made: Map[ExprId, Expression]): Attribute = made.get(column.exprId) match {
    case Some(other: Attribute) => root(other, made)
    case _ => column
  }

  private def timeOf(aggregate: Aggregate): Option[Time] = windowed(aggregate).flatMap { case (_, column) =>
    aggregate.child.collectFirst {
      case DataSourceV2Relation(table: ManagedTable, output, _, _, _, _)
          if output.exists(_.exprId == column.exprId) =>
        JobTables.pathOf(table).map(Time(_, column.name))
    }.flatten
  }

  /** The rows of an aggregate without those of which all windows end before a time, as far as a table can leave them
    * out: what stands between takes each row by itself. */
  private def pruned(aggregate: Aggregate, after: Long): LogicalPlan = {
    val bound = for {
      (struct, column) <- windowed(aggregate)
      size <- sizeOf(struct)
    } yield (column, after - size)
    bound.fold(aggregate.child) { case (column, time) => without(aggregate.child, column, time) }
  }

  /** How long the longest of the windows is. */
  private def sizeOf(struct: CreateNamedStruct): Option[Long] = {
    def at(field: String): Option[Long] = struct.names.indexOf(field) match {
      case -1 => None
      case place => struct.valExprs(place).transform { case time: Attribute =>
          Literal(0L, time.dataType)
        }.eval() match {
          case micros: Long => Some(micros)
          case _ => None
        }
    }
    for (start <- at("start"); end <- at("end")) yield end - start
  }
  private def without(plan: LogicalPlan, column: Attribute, time: Long): LogicalPlan = plan match {
    case relation: DataSourceV2Relation if relation.output.exists(_.exprId == column.exprId) =>
      Filter(GreaterThanOrEqual(column, Literal(time, column.dataType)), relation)
    case one @ (_: Project | _: Filter | _: Expand | _: Generate) =>
      one.withNewChildren(one.children.map(without(_, column, time)))
    case join: Join if join.joinType == Inner => join.withNewChildren(join.children.map(without(_, column, time)))
    case other => other
  }
}
