package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, LogicalPlan}
import org.apache.spark.sql.catalyst.trees.UnaryLike
import org.apache.spark.sql.catalyst.types.DataTypeUtils
import org.apache.spark.sql.types._

/** Makes the SUM and AVG of FLOAT and DOUBLE independent of the order of the rows, so that whoever computes them again
  * over the same rows gets the same bits. Sums over window frames stay as they are. */
object ExactSums {
  def apply(plan: LogicalPlan): LogicalPlan = plan.transformWithSubqueries { case aggregate: Aggregate =>
    aggregate.transformExpressions { case call: AggregateExpression =>
      call.copy(aggregateFunction = exact(call.aggregateFunction))
    }
  }

  private def exact(function: AggregateFunction): AggregateFunction = function match {
    case Sum(Floating(child), _) => ExactSum(child, isAverage = false)
    case Average(Floating(child), _) => ExactSum(child, isAverage = true)
    // Such as regr_avgx, which is an AVG.
    case other: RuntimeReplaceableAggregate => other.replacement match {
        case replacement: AggregateFunction if exact(replacement) ne replacement => exact(replacement)
        case _ => function
      }
    case _ => function
  }

  private object Floating {
    def unapply(child: Expression): Option[Expression] = child.dataType match {
      case DoubleType => Some(child)
      case FloatType => Some(Cast(child, DoubleType)) // exact, and what Spark does
      case _ => None
    }
  }
}

/** The sum of the DOUBLE values that are not NULL, correctly rounded: the double that is nearest to the exact sum, with
  * ties to even. `isAverage` divides it by the number of these values. Without any of them it is NULL.
  *
  * So the order of the rows does not matter, nor how they are split among tasks. It differs from Spark's sum where
  * that one loses digits, and where one of its intermediate sums overflows: this one is infinite only if the exact sum
  * is beyond the range of DOUBLE, or a value is infinite. NaN and the sum of both infinities are NaN. A sum that is
  * zero is 0.0, also that of -0.0 alone, as Spark's.
  *
  * The exact sum is held in a fixed number of chunks of a long number (which takes the same time for all values, and
  * cannot overflow): it is the sum of chunk i times 2 to the power of 56 i - 1074, where 2 to the power of -1074 is the
  * least positive double. Chunks have a sign and 6 bits more than they need, so that carries are rare. As the buffer
  * consists of LONG columns, Spark aggregates by hash, and spills as it does for its own sums.
  *
  * Source: R. M. Neal, "Fast Exact Summation Using Small and Large Superaccumulators", 2015, arXiv:1505.05571. */
case class ExactSum(
    child: Expression, isAverage: Boolean, mutableAggBufferOffset: Int = 0, inputAggBufferOffset: Int = 0)
    extends ImperativeAggregate with UnaryLike[Expression] {
  import ExactSum._

  override def nullable: Boolean = true
  override def dataType: DataType = DoubleType
  override def prettyName: String = if (isAverage) "exact_avg" else "exact_sum"
  override def flatArguments: Iterator[Any] = Iterator(child)

  override val aggBufferAttributes: Seq[AttributeReference] =
    Seq.tabulate(Columns)(i => AttributeReference(s"part_$i", LongType, nullable = false)())
  override val inputAggBufferAttributes: Seq[AttributeReference] = aggBufferAttributes.map(_.newInstance())
  override def aggBufferSchema: StructType = DataTypeUtils.fromAttributes(aggBufferAttributes)

  override def withNewMutableAggBufferOffset(offset: Int): ImperativeAggregate = copy(mutableAggBufferOffset = offset)
  override def withNewInputAggBufferOffset(offset: Int): ImperativeAggregate = copy(inputAggBufferOffset = offset)
  override protected def withNewChildInternal(newChild: Expression): ExactSum = copy(child = newChild)

  /** The child in generated code, which needs no object for a number. */
  @transient private lazy val input: MutableProjection =
    MutableProjection.create(Seq(child)).target(new SpecificInternalRow(Seq(DoubleType)))

  override def initialize(buffer: InternalRow): Unit = {
    var i = 0
    while (i < Columns) {
      buffer.setLong(mutableAggBufferOffset + i, 0)
      i += 1
    }
  }

  override def update(buffer: InternalRow, row: InternalRow): Unit = {
    val value = input(row)
    if (!value.isNullAt(0)) add(buffer, value.getDouble(0))
  }

  override def merge(buffer: InternalRow, other: InternalRow): Unit = {
    var i = 0
    while (i < Chunks) {
      increase(buffer, i, other.getLong(inputAggBufferOffset + i))
      i += 1
    }
    increase(buffer, Count, other.getLong(inputAggBufferOffset + Count))
    mark(buffer, other.getLong(inputAggBufferOffset + NotFinite))
  }

  override def eval(buffer: InternalRow): Any = buffer.getLong(mutableAggBufferOffset + Count) match {
    case 0 => null
    case count =>
      val sum = buffer.getLong(mutableAggBufferOffset + NotFinite) match {
        case 0 => rounded(Array.tabulate(Chunks)(i => buffer.getLong(mutableAggBufferOffset + i)))
        case PositiveInfinity => Double.PositiveInfinity
        case NegativeInfinity => Double.NegativeInfinity
        case _ => Double.NaN
      }
      if (isAverage) sum / count else sum
  }

  private def add(buffer: InternalRow, value: Double): Unit = {
    increase(buffer, Count, 1)
    val bits = java.lang.Double.doubleToRawLongBits(value)
    val exponent = (bits >>> FractionBits).toInt & ExponentMask
    val fraction = bits & FractionMask
    if (exponent == ExponentMask)
      mark(buffer, if (fraction != 0) NaN else if (bits < 0) NegativeInfinity else PositiveInfinity)
    else {
      val mantissa = if (exponent == 0) fraction else fraction | (1L << FractionBits)
      val place = if (exponent == 0) 0 else exponent - 1
      val chunk = place / ChunkBits
      val shift = place % ChunkBits
      val low = (mantissa << shift) & ChunkMask
      val high = mantissa >>> (ChunkBits - shift)
      increase(buffer, chunk, if (bits < 0) -low else low)
      increase(buffer, chunk + 1, if (bits < 0) -high else high)
    }
  }

  @scala.annotation.tailrec
  private def increase(buffer: InternalRow, column: Int, by: Long): Unit = {
    val ordinal = mutableAggBufferOffset + column
    val sum = buffer.getLong(ordinal) + by
    // Each column stays within 2^62 on both sides, so two of them can be added.
    if (sum + (1L << 62) >= 0 || column >= Chunks - 1) buffer.setLong(ordinal, sum)
    else {
      val carried = sum >> ChunkBits
      buffer.setLong(ordinal, sum - (carried << ChunkBits))
      increase(buffer, column + 1, carried)
    }
  }

  private def mark(buffer: InternalRow, flags: Long): Unit =
    if (flags != 0) {
      val ordinal = mutableAggBufferOffset + NotFinite
      buffer.setLong(ordinal, buffer.getLong(ordinal) | flags)
    }
}

object ExactSum {
  private val FractionBits = 52
  private val FractionMask = (1L << FractionBits) - 1
  private val ExponentMask = 0x7ff
  private val ChunkBits = 56
  private val ChunkMask = (1L << ChunkBits) - 1

  /** 38 have the bits of the greatest double; one more takes what is carried out of them. */
  private val Chunks = 39
  private val Count = Chunks
  private val NotFinite = Chunks + 1
  private val Columns = Chunks + 2

  /** Flags of what has been met. */
  private val PositiveInfinity = 1L
  private val NegativeInfinity = 2L
  private val NaN = 4L

  /** The double that is nearest to the number in the chunks, which are changed. */
  private def rounded(chunks: Array[Long]): Double = {
    carry(chunks)
    val isNegative = chunks.last < 0
    if (isNegative) {
      chunks.indices.foreach(i => chunks(i) = -chunks(i))
      carry(chunks)
    }
    val magnitude = chunks.lastIndexWhere(_ != 0) match {
      case -1 => 0.0
      case top => nearest(chunks, top * ChunkBits + 63 - java.lang.Long.numberOfLeadingZeros(chunks(top)))
    }
    if (isNegative) -magnitude else magnitude
  }

  /** Lets all chunks but the last have bits of their own: neither a sign nor more than 56 bits. */
  private def carry(chunks: Array[Long]): Unit = (0 until Chunks - 1).foreach { i =>
    chunks(i + 1) += chunks(i) >> ChunkBits
    chunks(i) &= ChunkMask
  }

  /** `highest` is the number of the highest bit that is set; the lowest one has the number 0. */
  private def nearest(chunks: Array[Long], highest: Int): Double = {
    val dropped = math.max(highest - FractionBits, 0)
    if (dropped >= ExponentMask - 1) Double.PositiveInfinity
    else {
      val (chunk, shift) = (dropped / ChunkBits, dropped % ChunkBits)
      val mantissa = ((chunks(chunk) >>> shift) | (chunks(chunk + 1) << (ChunkBits - shift))) &
        ((1L << (FractionBits + 1)) - 1)
      val isUp = dropped > 0 && {
        val (half, below) = ((dropped - 1) / ChunkBits, (1L << ((dropped - 1) % ChunkBits)) - 1)
        val isHalfOrMore = (chunks(half) & (below + 1)) != 0
        def isMore = (chunks(half) & below) != 0 || chunks.indexWhere(_ != 0) < half
        isHalfOrMore && ((mantissa & 1) != 0 || isMore)
      }
      // The mantissa's highest bit makes the exponent one more, and so does what rounding carries out of it.
      java.lang.Double.longBitsToDouble((dropped.toLong << FractionBits) + mantissa + (if (isUp) 1 else 0))
    }
  }
}
