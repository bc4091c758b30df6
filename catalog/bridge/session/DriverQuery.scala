package org.apache.spark.sql.tablestore

import java.util.Properties
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{Partition, SparkContext, SparkEnv, TaskContext, TaskContextImpl}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions.{Attribute, SubqueryExpression, UnsafeProjection}
import org.apache.spark.sql.catalyst.optimizer.{ConvertToLocalRelation, ReplaceExpressions}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LocalRelation, LogicalPlan, OneRowRelation, Statistics}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, SinglePartition}
import org.apache.spark.sql.execution.{LeafExecNode, QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.internal.SQLConf

/** Runs a query over few rows in the driver's own thread: Spark's plan for one partition, without a job, whose scheduling
  * takes longer than the rows do. */
object DriverQuery {

  /** A plan whose projections and filters of rows in the driver are computed; an analyzed one as well as an optimized
    * one. */
  def folded(plan: LogicalPlan): LogicalPlan = ConvertToLocalRelation(ReplaceExpressions(plan))

  /** The rows of an optimized plan; None if they are more than `max`, or it reads tables or needs an exchange of rows. */
  def rows(session: classic.SparkSession, optimized: LogicalPlan, max: Int): Option[Seq[InternalRow]] =
    if (!optimized.collectLeaves().forall(isHeld) || hasSubquery(optimized)) None
    else {
      val held = optimized.transform { case LocalRelation(output, data, false, _) => HeldRows(output, data) }
      val plan = inOnePartition(session)(QueryExecution.prepareExecutedPlan(session, held))
      if (plan.exists(_.isInstanceOf[Exchange])) None
      else session.withActive(collected(session, plan, max))
    }

  private def isHeld(leaf: LogicalPlan): Boolean = leaf match {
    case LocalRelation(_, _, false, _) | _: OneRowRelation => true
    case _ => false
  }
  private def hasSubquery(plan: LogicalPlan): Boolean =
    plan.exists(_.expressions.exists(SubqueryExpression.hasSubquery))

  /** Plans joins that neither broadcast nor shuffle rows. The planner asks the session's own settings, which other
    * threads may change here, too; what they plan elsewhere meanwhile is no more than slower. */
  private def inOnePartition[T](session: classic.SparkSession)(plan: => T): T = {
    val conf = session.sessionState.conf
    conf.synchronized {
      val before = conf.getConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD)
      conf.setConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD, -1L)
      try session.withActive(plan)
      finally conf.setConf(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD, before)
    }
  }

  private def collected(session: classic.SparkSession, plan: SparkPlan, max: Int): Option[Seq[InternalRow]] = {
    val rdd = plan.execute()
    if (rdd.getNumPartitions != 1) None
    else {
      val id = ids.decrementAndGet()
      val memory = new TaskMemoryManager(SparkEnv.get.memoryManager, id)
      val settings = new Properties
      session.sessionState.conf.getAllConfs.foreach { case (key, value) => settings.setProperty(key, value) }
      val context = new TaskContextImpl(
        -1, 0, 0, id, 0, 1, memory, settings, SparkEnv.get.metricsSystem, TaskMetrics.empty, 1, Map.empty)
      val found = TaskContext.withTaskContext(context) {
        try rdd.iterator(rdd.partitions.head, context).map(_.copy()).take(max + 1).toIndexedSeq
        finally {
          context.markTaskCompleted(None)
          memory.cleanUpAllAllocatedMemory()
        }
      }
      if (found.size <= max) Some(found) else None
    }
  }

  /** Tasks of Spark have numbers from 0 on. */
  private val ids = new AtomicLong(0)
}

/** Rows in the driver, which are one partition. */
case class HeldRows(output: Seq[Attribute], data: Seq[InternalRow]) extends LeafNode {
  override def computeStats(): Statistics = LocalRelation(output, data).stats
  override def maxRows: Option[Long] = Some(data.length)
  override protected def stringArgs: Iterator[Any] = Iterator(output)
}

case class HeldRowsExec(output: Seq[Attribute], data: Seq[InternalRow]) extends LeafExecNode {
  override def outputPartitioning: Partitioning = SinglePartition
  override protected def stringArgs: Iterator[Any] = Iterator(output)
  override protected def doExecute(): RDD[InternalRow] =
    new HeldRowsRDD(sparkContext, () => data.iterator.map(UnsafeProjection.create(output, output)))
}

private class HeldRowsRDD(
    context: SparkContext, rows: () => Iterator[InternalRow]) extends RDD[InternalRow](context, Nil) {
  override protected def getPartitions: Array[Partition] = Array(new Partition { override def index: Int = 0 })
  override def compute(split: Partition, context: TaskContext): Iterator[InternalRow] = rows()
}

object HeldRowsStrategy extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case HeldRows(output, data) => HeldRowsExec(output, data) :: Nil
    case _ => Nil
  }
}
