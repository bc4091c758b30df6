package org.apache.spark.sql.tablestore

import java.util.Properties
import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.{SparkEnv, TaskContext, TaskContextImpl}
import org.apache.spark.executor.TaskMetrics
import org.apache.spark.memory.TaskMemoryManager
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions.SubqueryExpression
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, OneRowRelation, Repartition, Union}
import org.apache.spark.sql.execution.{QueryExecution, SparkPlan}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.internal.SQLConf

/** Runs a query over few rows in the driver's own thread: Spark's plan for one partition, without a job, whose scheduling
  * takes longer than the rows do. */
object DriverQuery {

  /** The rows of an optimized plan; None if they are more than `max`, or it reads tables or needs an exchange of rows. */
  def rows(session: classic.SparkSession, optimized: LogicalPlan, max: Int): Option[Seq[InternalRow]] =
    if (!optimized.collectLeaves().forall(isHeld) || hasSubquery(optimized)) None
    else {
      val held = optimized.transformUp {
        case HeldRows.In(output, rows) => HeldRows(output, new RowBlock(rows))
        // Spark does not see that what comes of several single partitions is one, too.
        case several @ (_: Union | _: Join) => Repartition(1, shuffle = false, several)
      }
      val plan = inOnePartition(session)(QueryExecution.prepareExecutedPlan(session, held))
      if (plan.exists(_.isInstanceOf[Exchange])) None
      else session.withActive(collected(session, plan, max))
    }

  private def isHeld(leaf: LogicalPlan): Boolean = leaf match {
    case HeldRows.In(_, _) | _: OneRowRelation => true
    case _ => false
  }
  private def hasSubquery(plan: LogicalPlan): Boolean =
    plan.exists(_.expressions.exists(SubqueryExpression.hasSubquery))

  /** Plans joins that neither broadcast nor shuffle rows, however large Spark takes the result of a join for. The planner
    * asks the session's own settings, which other threads may change here, too; what they plan elsewhere meanwhile is no
    * more than slower. */
  private def inOnePartition[T](session: classic.SparkSession)(plan: => T): T = {
    val conf = session.sessionState.conf
    val limits = Seq(SQLConf.AUTO_BROADCASTJOIN_THRESHOLD -> -1L, SQLConf.MAX_SINGLE_PARTITION_BYTES -> Long.MaxValue)
    conf.synchronized {
      val before = limits.map { case (limit, _) => limit -> conf.getConf(limit) }
      limits.foreach { case (limit, bytes) => conf.setConf(limit, bytes) }
      try session.withActive(plan)
      finally before.foreach { case (limit, bytes) => conf.setConf(limit, bytes) }
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
