package org.apache.spark.sql.tablestore

import java.util.concurrent.ConcurrentHashMap

import org.apache.spark.SparkContext
import org.apache.spark.sql.SparkSession
import org.apache.spark.util.LongAccumulator

/** Records of sources that are no rows and were left out, by the job whose epoch reads them. The planner counts those
  * that it reads itself; workers' come with the tasks that succeed. */
object SkippedRecords {
  private val counts = new ConcurrentHashMap[String, LongAccumulator]

  /** Counts anew for a job. */
  def begin(job: String): Unit = counts.put(job, SparkSession.active.sparkContext.longAccumulator)

  /** How many there were since `begin`; the count ends. */
  def take(job: String): Long = Option(counts.remove(job)).fold(0L)(_.value.longValue)

  /** Counts what this thread's job leaves out, if there is one. */
  def add(records: Int): Unit = ofThread(SparkSession.active.sparkContext).foreach(_.add(records.toLong))

  /** Where tasks count that this thread's job begins. */
  def ofThread(context: SparkContext): Option[LongAccumulator] =
    Option(context.getLocalProperty("spark.jobGroup.id")).flatMap(job => Option(counts.get(job)))
}
