package org.apache.spark.sql.tablestore

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.types.DayTimeIntervalType

/** The windowing functions over tables of Flink's SQL: TUMBLE, HOP, CUMULATE and SESSION become a query of Spark's own
  * operators, so that whatever knows these knows the functions. A row is once in the result for each window that it is
  * in, with `window_start`, `window_end` and `window_time`, the last millisecond of the window, behind its columns; a
  * row without a time is in none.
  */
object EventTimeWindows extends Rule[LogicalPlan] {

  /** The arguments of each function in their order; those in the second list may be left out. */
  private val parameters = Map(
    "TUMBLE" -> (Seq("DATA", "TIMECOL", "SIZE"), Seq("OFFSET")),
    "HOP" -> (Seq("DATA", "TIMECOL", "SLIDE", "SIZE"), Seq("OFFSET")),
    "CUMULATE" -> (Seq("DATA", "TIMECOL", "STEP", "SIZE"), Seq("OFFSET")),
    "SESSION" -> (Seq("DATA", "TIMECOL", "GAP"), Nil)
  )

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case call: UnresolvedTableValuedFunction if call.name.length == 1 =>
      val function = call.name.head.toUpperCase(Locale.ROOT)
      parameters.get(function).map(_ => new WindowCall(function, call.functionArgs).query).getOrElse(call)
  }

  private class WindowCall(function: String, arguments: Seq[Expression]) {
    private val (needed, optional) = parameters(function)
    private val names = needed ++ optional
    private val values = named()
    private val data = values("DATA") match {
      case table: FunctionTableSubqueryArgumentExpression => table
      case _ => throw refused("DATA is no table. Write it as TABLE t, or TABLE (SELECT …)")
    }
    private val time = values("TIMECOL") match {
      case UnresolvedFunction(Seq(called), Seq(column: UnresolvedAttribute), _, _, _, _, _)
          if called.equalsIgnoreCase("descriptor") => column
      case _ => throw refused("TIMECOL is no descriptor of one column. Write it as DESCRIPTOR(column)")
    }
    if (data.orderByExpressions.nonEmpty || data.withSinglePartition)
      throw refused("a table takes no ORDER BY and no WITH SINGLE PARTITION here. Leave it out")
    if (function != "SESSION" && data.partitionByExpressions.nonEmpty)
      throw refused("only the table of SESSION takes PARTITION BY. Leave it out, and group by the columns")

    def query: LogicalPlan = function match {
      case "TUMBLE" =>
        val size = positive("SIZE")
        overlapping(size, size)
      case "HOP" =>
        val (slide, size) = (positive("SLIDE"), positive("SIZE"))
        if (slide > size) throw refused("SLIDE is longer than SIZE. Give one that is not")
        overlapping(slide, size)
      case "CUMULATE" =>
        val (step, size) = (positive("STEP"), positive("SIZE"))
        if (size % step != 0) throw refused("SIZE is no multiple of STEP. Give one that is")
        cumulative(step, size)
      case _ => sessions(positive("GAP"))
    }

    private def overlapping(slide: Long, size: Long): LogicalPlan = {
      val windowed = adding(data.plan, TimeWindow(time, size, slide, offset(slide)) -> "window")
      result(windowed, hidden("window", "start"), hidden("window", "end"), Seq("window"))
    }

    /** They begin with the longest window that the row is in, and end with those that begin with each step, as long as
      * these do not go beyond it. */
    private def cumulative(step: Long, size: Long): LogicalPlan = {
      val longest = adding(data.plan, TimeWindow(time, size, size, offset(size)) -> "window")
      val stepwise = adding(longest, TimeWindow(time, size, step, offset(step)) -> "step")
      val within = Filter(LessThanOrEqual(hidden("step", "end"), hidden("window", "end")), stepwise)
      result(within, hidden("window", "start"), hidden("step", "end"), Seq("window", "step"))
    }

    /** A session goes on while the next row comes before it ends, or just then. */
    private def sessions(gap: Long): LogicalPlan = {
      val keys = data.partitionByExpressions
      val inOrder = WindowSpecDefinition(keys, Seq(SortOrder(time, Ascending)), UnspecifiedFrame)
      val last = WindowExpression(function("lag", time), inOrder)
      val present = Filter(IsNotNull(time), data.plan)
      val begins = If(LessThanOrEqual(time, function("try_add", last, interval(gap))), Literal(0L), Literal(1L))
      val marked = adding(present, begins -> "begins")
      val numbered = adding(marked, WindowExpression(function("sum", hidden("begins")), inOrder) -> "session")
      val whole = WindowSpecDefinition(keys :+ hidden("session"), Nil, UnspecifiedFrame)
      val bounded = adding(numbered, WindowExpression(function("min", time), whole) -> "first",
        WindowExpression(function("max", time), whole) -> "last")
      val end = Add(hidden("last"), interval(gap))
      result(bounded, hidden("first"), end, Seq("begins", "session", "first", "last"))
    }

    private def result(plan: LogicalPlan, start: Expression, end: Expression, helpers: Seq[String]): LogicalPlan = {
      val kept = UnresolvedStarExceptOrReplace(None, helpers.map(helper => Seq(name(helper))), None)
      Project(
        Seq(
          kept,
          Alias(start, "window_start")(),
          Alias(end, "window_end")(explicitMetadata = Some(ClosedWindows.endMark)),
          Alias(Subtract(end, interval(1000)), "window_time")()
        ),
        plan
      )
    }

    private def adding(plan: LogicalPlan, columns: (Expression, String)*): LogicalPlan =
      Project(UnresolvedStar(None) +: columns.map { case (value, helper) => Alias(value, name(helper))() }, plan)

    private def name(helper: String): String = s"__table_store_$helper"
    private def hidden(helper: String, field: String*): Expression = UnresolvedAttribute(name(helper) +: field)
    private def function(called: String, values: Expression*): Expression =
      UnresolvedFunction(Seq(called), values, isDistinct = false)
    private def interval(microseconds: Long): Literal = Literal(microseconds, DayTimeIntervalType())

    private def named(): Map[String, Expression] = {
      val (byPlace, byName) = arguments.span(!_.isInstanceOf[NamedArgumentExpression])
      if (byPlace.length > names.length) throw refused(s"it has ${arguments.length} arguments$takes")
      val pairs = names.zip(byPlace) ++ byName.map {
        case NamedArgumentExpression(key, value) => key.toUpperCase(Locale.ROOT) -> value
        case _ => throw refused(s"an argument without a name stands behind one with a name$takes")
      }
      pairs.map(_._1).find(key => !names.contains(key)).foreach(key => throw refused(s"it has no argument $key$takes"))
      pairs.groupBy(_._1).collectFirst {
        case (key, several) if several.length > 1 =>
          throw refused(s"$key stands there twice$takes")
      }
      needed.find(key => !pairs.exists(_._1 == key)).foreach(key => throw refused(s"$key is missing$takes"))
      pairs.toMap
    }
    private def takes: String = {
      val whole = needed.mkString(", ") + optional.map(each => s" [, $each]").mkString
      s". It takes $whole, by place or as NAME => value"
    }

    private def duration(key: String): Long = values(key) match {
      case value if value.resolved && value.foldable && value.dataType.isInstanceOf[DayTimeIntervalType] =>
        value.eval() match {
          case microseconds: Long => microseconds
          case _ => throw refused(s"$key is NULL. Give an interval")
        }
      case value =>
        throw refused(s"$key is ${value.sql}, and no constant of days to seconds. Write it as INTERVAL '10' MINUTES")
    }
    private def positive(key: String): Long = {
      val microseconds = duration(key)
      if (microseconds <= 0) throw refused(s"$key is ${values(key).sql}. Give one above zero")
      microseconds
    }

    /** Where windows begin behind the epoch: Spark's own takes less than a slide. */
    private def offset(slide: Long): Long = if (values.contains("OFFSET")) duration("OFFSET") % slide else 0

    private def refused(problem: String): Throwable = Errors.windowFunction(function, problem)
  }
}
