package org.apache.spark.sql.tablestore

import java.math.{BigDecimal => JavaDecimal, BigInteger}
import java.security.MessageDigest
import java.util.Base64

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, CodegenFallback, ExprCode}
import org.apache.spark.sql.catalyst.plans.LeftOuter
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, Join, JoinHint, LogicalPlan, Project}
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** The groups of an aggregate as a table, from which its result follows and to which changes of its rows can be added:
  * for each group a key, the values that it is grouped by, the number of its rows, and for each COUNT, SUM or AVG the
  * number of values and their sum. All numbers are exact, so that it does not matter how they came about.
  *
  * Source: A. Gupta, I. S. Mumick, V. S. Subrahmanian, "Maintaining Views Incrementally", SIGMOD 1993, for the counts.
  */
class AggregateState private (aggregate: Aggregate, calls: Seq[AggregateState.Linear]) {
  import AggregateState._

  private val groups = aggregate.groupingExpressions.zipWithIndex
    .map { case (group, at) => StructField(s"g$at", group.dataType) }
  private val amounts = Amount("n", LongType, cond => Count(If(cond, one, none))) +:
    calls.zipWithIndex.flatMap { case (call, at) => call.amounts(at) }

  /** The columns of the table, of which the first is its key. */
  val columns: StructType = StructType(
    StructField("k", StringType, nullable = false) +: groups :++
      amounts.map(amount => StructField(amount.name, amount.dataType, nullable = false)))

  /** The groups of all rows of the child, with the table's columns. */
  def of(rows: LogicalPlan): LogicalPlan = {
    val (parts, sums) = summed(Literal.TrueLiteral)
    keyed(Aggregate(aggregate.groupingExpressions, groupColumns ++ parts, rows), sums)
  }

  /** What rows with the child's columns add to the groups or, where `weight` is negative, take from them. */
  def change(rows: LogicalPlan, weight: Attribute): LogicalPlan = {
    val (parts, sums) = summed(GreaterThan(weight, Literal(0)))
    val (goneParts, gone) = summed(LessThan(weight, Literal(0)))
    val differences = sums.zip(gone).zip(amounts).map { case ((came, went), amount) =>
      Cast(Subtract(came, went, exact), amount.dataType)
    }
    val found = keyed(
      Aggregate(aggregate.groupingExpressions, groupColumns ++ parts ++ goneParts, rows), differences)
    val isChange = found.output.takeRight(amounts.size).map(amount => Not(EqualTo(amount, zero(amount.dataType))))
    Filter(isChange.reduce[Expression](Or), found)
  }

  /** Each changed group's key, values, amounts before and amounts after; `state` has those of other groups, too. */
  def merged(change: LogicalPlan, state: LogicalPlan): LogicalPlan = {
    val known = Project(state.output.map(column => Alias(column, column.name)()), state)
    val joined = Join(
      change, known, LeftOuter, Some(EqualTo(change.output.head, known.output.head)), JoinHint.NONE)
    val (old, added) = (known.output.takeRight(amounts.size), change.output.takeRight(amounts.size))
    val before = old.map(amount => Coalesce(Seq(amount, zero(amount.dataType))))
    val after = before.zip(added).map { case (was, more) => Cast(Add(was, more, exact), more.dataType) }
    val columns = change.output.dropRight(amounts.size)
    Project(columns ++ before.map(Alias(_, "before")()) ++ after.map(Alias(_, "after")()), joined)
  }

  /** The table's rows after the change, or before it, of what [[merged]] returns. */
  def rows(merged: LogicalPlan, isAfter: Boolean): LogicalPlan = {
    val values = merged.output.take(1 + groups.size)
    val kept = if (isAfter) merged.output.takeRight(amounts.size)
    else merged.output.slice(values.size, values.size + amounts.size)
    Project((values ++ kept).zip(columns).map { case (value, column) => Alias(value, column.name)() }, merged)
  }

  /** The aggregate's own columns, of the table's rows. */
  def result(state: LogicalPlan): LogicalPlan = {
    val column = columns.fieldNames.zip(state.output).toMap
    def value(expression: Expression): Expression = expression match {
      case call: AggregateExpression => calls.zipWithIndex.collectFirst {
          case (linear, at) if linear.call.semanticEquals(call) =>
            linear.result(column(s"c$at"), linear.sums(at).map(column))
        }.get
      case other => aggregate.groupingExpressions.zip(groups).collectFirst {
          case (group, field) if group.semanticEquals(other) => column(field.name)
        }.getOrElse(other.mapChildren(value))
    }
    val output = aggregate.aggregateExpressions.map {
      case alias: Alias => alias.mapChildren(value).asInstanceOf[NamedExpression]
      case group => Alias(value(group), group.name)(exprId = group.exprId)
    }
    // Without GROUP BY there is one group, also of no rows.
    Project(output, if (groups.isEmpty) state else Filter(GreaterThan(column("n"), Literal(0L)), state))
  }

  /** The same with what is to be done with each row in the column `kind`. */
  def written(rows: LogicalPlan, kind: String): LogicalPlan = {
    val count = rows.output(1 + groups.size)
    val isGone = if (groups.isEmpty) Literal.FalseLiteral else EqualTo(count, Literal(0L))
    Project(rows.output :+ Alias(If(isGone, Literal("delete"), Literal("insert")), kind)(), rows)
  }

  private def groupColumns: Seq[NamedExpression] = aggregate.groupingExpressions.zip(groups).map {
    case (group, field) => Alias(group, field.name)()
  }

  /** Aggregates over the rows that satisfy a condition, and the amounts that follow from them. */
  private def summed(condition: Expression): (Seq[NamedExpression], Seq[Expression]) = {
    val parts = amounts.map(amount => Alias(amount.function(condition).toAggregateExpression(), amount.name)())
    val sums = parts.zip(amounts).map { case (part, amount) =>
      Coalesce(Seq(Cast(part.toAttribute, amount.dataType), zero(amount.dataType)))
    }
    (parts, sums)
  }

  private def keyed(found: Aggregate, values: Seq[Expression]): LogicalPlan = {
    val by = found.output.take(groups.size)
    val named = values.zip(amounts).map { case (value, amount) => Alias(value, amount.name)() }
    Project(Alias(GroupKey(by), "k")() +: by :++ named, found)
  }
}

object AggregateState {

  /** None if some function is not a sum or a count of exact numbers, or a table cannot have the groups. */
  def of(node: LogicalPlan): Option[AggregateState] = node match {
    case aggregate: Aggregate
        if !JobPlan.hasSessions(aggregate) && aggregate.groupingExpressions.forall(group => isKept(group.dataType)) =>
      val calls = aggregate.aggregateExpressions.flatMap(_.collect { case call: AggregateExpression => call })
      val linear = calls.foldLeft(Seq.empty[AggregateExpression]) { (known, call) =>
        if (known.exists(_.semanticEquals(call))) known else known :+ call
      }.map(Linear.of)
      if (linear.contains(None)) None else Some(new AggregateState(aggregate, linear.flatten))
    case _ => None
  }

  private def isKept(dataType: DataType): Boolean = dataType match {
    case text: StringType => text == StringType
    case _: NumericType | BooleanType | BinaryType | DateType | TimestampType | TimestampNTZType => true
    case ArrayType(item, _) => isKept(item)
    case StructType(fields) => fields.forall(field => isKept(field.dataType))
    case _ => false
  }

  /** A number of each group; `function` gives it of the rows that satisfy a condition, NULL for 0. */
  private case class Amount(name: String, dataType: DataType, function: Expression => AggregateFunction)

  /** A call of a function whose `result` follows from a count of rows without NULL among `counted` and sums. */
  private case class Linear(call: AggregateExpression, counted: Seq[Expression], summands: Seq[Expression] = Nil)(
      val result: (Expression, Seq[Expression]) => Expression) {
    def sums(at: Int): Seq[String] = summands.indices.map(part => if (part == 0) s"s$at" else s"s${at}_$part")
    def amounts(at: Int): Seq[Amount] = {
      val isThere = counted.filter(_.nullable).map(IsNotNull(_): Expression)
      def wanted(condition: Expression): Expression = (condition +: call.filter.toSeq).reduce(And)
      val count =
        Amount(s"c$at", LongType, condition => Count(If((wanted(condition) +: isThere).reduce(And), one, none)))
      count +: sums(at).zip(summands).map { case (name, value) =>
        val nothing = Literal(null, value.dataType)
        Amount(name, total(value.dataType), condition => Sum(If(wanted(condition), value, nothing), exact))
      }
    }
  }
  private object Linear {
    def of(call: AggregateExpression): Option[Linear] = call.aggregateFunction match {
      case _ if call.isDistinct => None
      case Count(values) => Some(Linear(call, values)((count, _) => count))
      case sum @ Sum(Exact(value), context) if context.evalMode != EvalMode.TRY =>
        Some(Linear(call, Seq(sum.child), Seq(value))((count, totals) =>
            If(EqualTo(count, Literal(0L)), Literal(null, sum.dataType),
              Cast(totals.head, sum.dataType, None, context.evalMode))))
      case sum @ Sum(Wide(parts), context) if context.evalMode != EvalMode.TRY =>
        val isNull = context.evalMode != EvalMode.ANSI
        Some(Linear(call, Seq(sum.child), parts)((count, totals) =>
            If(
              EqualTo(count, Literal(0L)),
              Literal(null, sum.dataType),
              CheckOverflowInSum(joined(totals, sum.dataType), sum.dataType.asInstanceOf[DecimalType], isNull,
                sum.origin.context)
            )))
      case average @ Average(Exact(value), mode) if mode != EvalMode.TRY =>
        // Spark adds LONG values up as DOUBLE, which does not overflow.
        val wide = if (value.dataType == LongType) Cast(value, DecimalType(20, 0)) else value
        Some(Linear(call, Seq(value), Seq(wide))((count, totals) =>
            evaluated(average, count, kind => Cast(totals.head, kind))))
      case average @ Average(value @ Wide(parts), mode) if mode != EvalMode.TRY =>
        Some(Linear(call, Seq(value), parts)((count, totals) => evaluated(average, count, joined(totals, _))))
      case _ => None
    }
    private def evaluated(average: Average, count: Expression, total: DataType => Expression): Expression = {
      val buffer = average.aggBufferAttributes
      average.evaluateExpression.transform {
        case part: Attribute if part.exprId == buffer.head.exprId => total(part.dataType)
        case part: Attribute if part.exprId == buffer.last.exprId => count
      }
    }
    private def joined(totals: Seq[Expression], dataType: DataType): Expression =
      JoinedDecimal(totals.head, totals.last, dataType.asInstanceOf[DecimalType])
  }

  /** A value whose sum is exact. */
  private object Exact {
    def unapply(value: Expression): Option[Expression] = value.dataType match {
      case _: IntegralType => Some(value)
      case DecimalType.Fixed(precision, _) if precision + 10 <= totalPrecision => Some(value)
      case _ => None
    }
  }

  /** A decimal of which a sum may have more digits than a decimal: its upper half and its lower one. */
  private object Wide {
    def unapply(value: Expression): Option[Seq[Expression]] = value.dataType match {
      case DecimalType.Fixed(precision, _) if precision + 10 > totalPrecision =>
        Some(Seq(HalfDecimal(value, isUpper = true), HalfDecimal(value, isUpper = false)))
      case _ => None
    }
  }

  private val totalPrecision = 37 // so that the sum and the difference of two totals lose no digit
  private def total(dataType: DataType): DecimalType = dataType match {
    case DecimalType.Fixed(_, scale) => DecimalType(totalPrecision, scale)
    case _ => DecimalType(totalPrecision, 0)
  }
  private val exact = NumericEvalContext(EvalMode.ANSI)
  private val (one, none) = (Literal(1), Literal(null, IntegerType))
  private def zero(dataType: DataType): Literal = Literal.default(dataType)
}

/** A text that two groups share if and only if their values are the same to GROUP BY, NULL among them. The values are
  * those of an Aggregate, which has made one value of 0.0 and -0.0, and of all NaN. */
case class GroupKey(children: Seq[Expression]) extends Expression with CodegenFallback {
  override def nullable: Boolean = false
  override def dataType: DataType = StringType
  private lazy val row = UnsafeProjection.create(children.map(_.dataType).toArray)
  override def eval(input: InternalRow): Any = {
    val bytes = row(InternalRow.fromSeq(children.map(_.eval(input)))).getBytes
    val short = if (bytes.length <= bytesMax) bytes else MessageDigest.getInstance("SHA-512").digest(bytes)
    UTF8String.fromString(Base64.getEncoder.encodeToString(short))
  }
  private def bytesMax = 63 // one less than a digest has
  override protected def withNewChildrenInternal(newChildren: IndexedSeq[Expression]): GroupKey = copy(newChildren)
}

/** The upper or the lower 19 digits of a decimal's unscaled value, with its sign. */
case class HalfDecimal(child: Expression, isUpper: Boolean) extends UnaryExpression {
  override def nullIntolerant: Boolean = true
  override def dataType: DataType = DecimalType(HalfDecimal.digits, 0)
  private def scale = child.dataType.asInstanceOf[DecimalType].scale
  override protected def nullSafeEval(value: Any): Any = HalfDecimal.half(value.asInstanceOf[Decimal], scale, isUpper)
  override protected def doGenCode(context: CodegenContext, code: ExprCode): ExprCode =
    defineCodeGen(context, code, value => s"org.apache.spark.sql.tablestore.HalfDecimal.half($value, $scale, $isUpper)")
  override protected def withNewChildInternal(newChild: Expression): HalfDecimal = copy(newChild)
}

object HalfDecimal {
  val digits = 19
  val base: BigInteger = BigInteger.TEN.pow(digits)

  def half(value: Decimal, scale: Int, isUpper: Boolean): Decimal = {
    val unscaled = value.toJavaBigDecimal.setScale(scale).unscaledValue
    Decimal(new JavaDecimal(if (isUpper) unscaled.divide(base) else unscaled.remainder(base)), digits, 0)
  }
}

/** The decimal of two sums of halves; NULL if it has more digits than the type. */
case class JoinedDecimal(left: Expression, right: Expression, dataType: DecimalType) extends BinaryExpression
    with CodegenFallback {
  override def nullable: Boolean = true
  override def nullIntolerant: Boolean = true
  override protected def nullSafeEval(upper: Any, lower: Any): Any = {
    def unscaled(half: Any): BigInteger = half.asInstanceOf[Decimal].toJavaBigDecimal.unscaledValue
    val whole = new JavaDecimal(unscaled(upper).multiply(HalfDecimal.base).add(unscaled(lower)), dataType.scale)
    if (whole.precision > dataType.precision) null else Decimal(whole, dataType.precision, dataType.scale)
  }
  override protected def withNewChildrenInternal(newLeft: Expression, newRight: Expression): JoinedDecimal =
    copy(newLeft, newRight)
}
