package org.apache.spark.sql.tablestore

import java.util.concurrent.atomic.AtomicReference

import scala.collection.mutable

import org.apache.spark.{Partition, SparkContext, TaskContext}
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.MultiInstanceRelation
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.ReplaceExpressions
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.statsEstimation.EstimationUtils
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.catalyst.trees.TreePattern.LAMBDA_FUNCTION
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.{LeafExecNode, SparkPlan}

/** Rows in the driver, as a [[LocalRelation]] is. Rules that look at expressions go through each row of a LocalRelation;
  * they see nothing in a block, so that thousands of rows are as cheap to plan with as one. Plans go to executors without
  * them. */
final class RowBlock(@transient val rows: IndexedSeq[InternalRow]) extends Serializable

/** A leaf of a plan; see [[HeldRows.of]]. */
case class HeldRows(output: Seq[Attribute], block: RowBlock) extends LeafNode with MultiInstanceRelation {
  def rows: IndexedSeq[InternalRow] = block.rows
  override def newInstance(): HeldRows = copy(output = output.map(_.newInstance()))
  override def maxRows: Option[Long] = Some(rows.size)
  override def computeStats(): Statistics =
    Statistics(EstimationUtils.getOutputSize(output, rows.size), Some(BigInt(rows.size)))
  override protected def stringArgs: Iterator[Any] = Iterator(output)
}

object HeldRows {

  /** No rows are a LocalRelation, for which the optimizer has rules. */
  def of(output: Seq[Attribute], rows: Seq[InternalRow]): LogicalPlan =
    if (rows.isEmpty) LocalRelation(output) else HeldRows(output, new RowBlock(rows.toIndexedSeq))

  /** The rows of a leaf in the driver. */
  object In {
    def unapply(plan: LogicalPlan): Option[(Seq[Attribute], IndexedSeq[InternalRow])] = plan match {
      case HeldRows(output, block) => Some(output -> block.rows)
      case LocalRelation(output, rows, false, _) => Some(output -> rows.toIndexedSeq)
      case _ => None
    }
  }

  /** A plan in which rows that only go through projections, filters and unions are held as what they become. */
  def folded(plan: LogicalPlan): LogicalPlan = withOwnVariables(ReplaceExpressions(plan)).transformUp {
    case Project(columns, HeldRows(output, block)) if isRenaming(columns, output) =>
      HeldRows(columns.map(_.toAttribute), block)
    case Project(columns, In(output, rows)) if columns.forall(isKnown) =>
      val projection = projectionOf(columns.toIndexedSeq, output, rows.size)
      projection.initialize(0)
      of(columns.map(_.toAttribute), rows.map(projection(_).copy()))
    case Filter(condition, In(output, rows)) if isKnown(condition) =>
      val predicate = Predicate.create(condition, output)
      predicate.initialize(0)
      of(output, rows.filter(predicate.eval))
    case union @ Union(children, false, false) if children.forall(In.unapply(_).nonEmpty) =>
      of(union.output, children.flatMap(In.unapply(_).get._2))
  }

  /** The variables of lambda functions hold values while rows are computed, and another thread may compute other rows
    * by the same expressions. Tasks of Spark have copies of their own. */
  private def withOwnVariables(plan: LogicalPlan): LogicalPlan = {
    val values = mutable.Map.empty[ExprId, AtomicReference[Any]]
    plan.transformAllExpressionsWithPruning(_.containsPattern(LAMBDA_FUNCTION)) { case lambda: LambdaFunction =>
      lambda.transform { case variable: NamedLambdaVariable =>
        variable.copy(value = values.getOrElseUpdate(variable.exprId, new AtomicReference[Any]))
      }
    }
  }

  /** Columns of few rows are computed sooner than compiled. */
  private def projectionOf(columns: IndexedSeq[Expression], input: Seq[Attribute], count: Int): MutableProjection =
    if (count < CompiledFrom) new InterpretedMutableProjection(columns, input)
    else MutableProjection.create(columns, input)

  private val CompiledFrom = 1000

  /** Whether columns are those of rows in their order, under other names. */
  private def isRenaming(columns: Seq[NamedExpression], output: Seq[Attribute]): Boolean =
    columns.size == output.size && columns.zip(output).forall {
      case (Alias(column: Attribute, _), own) => column.exprId == own.exprId
      case (column: Attribute, own) => column.exprId == own.exprId
      case _ => false
    }

  private def isKnown(column: Expression): Boolean = !column.exists {
    case _: AttributeReference => false
    case _: Unevaluable => true
    case _ => false
  }
}

/** Rows in the driver, which are one partition. */
case class HeldRowsExec(output: Seq[Attribute], block: RowBlock) extends LeafExecNode {
  override def outputPartitioning: Partitioning = SinglePartition
  override protected def stringArgs: Iterator[Any] = Iterator(output)
  override def executeCollect(): Array[InternalRow] =
    if (block.rows.forall(_.isInstanceOf[UnsafeRow])) block.rows.toArray
    else block.rows.iterator.map(UnsafeProjection.create(output, output)).map[InternalRow](_.copy()).toArray
  override protected def doExecute(): RDD[InternalRow] = new HeldRowsRDD(sparkContext, () => executeCollect())
}

/** The rows go with the task that reads them; one in the driver's own thread gets them from `rows` as well. */
private class HeldRowsRDD(
    context: SparkContext, @transient rows: () => Array[InternalRow]) extends RDD[InternalRow](context, Nil) {
  override protected def getPartitions: Array[Partition] = Array(new HeldRowsPartition(rows()))
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] =
    split.asInstanceOf[HeldRowsPartition].rows.iterator
}

private class HeldRowsPartition(val rows: Array[InternalRow]) extends Partition {
  override def index: Int = 0
}

object HeldRowsStrategy extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case HeldRows(output, block) => HeldRowsExec(output, block) :: Nil
    case _ => Nil
  }
}
