package org.apache.spark.sql.tablestore

import org.apache.spark.SparkContext
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.util.CallSite

/** Names of jobs and stages, which say what is done to which table. Otherwise Spark names them after the method of this
  * bridge that the planner calls. */
object JobNames {
  private val statement = "table-store.statement"

  /** Runs jobs of a statement; within [[begin]] the name is the one given there. */
  def within[T](context: SparkContext, name: String)(jobs: => T): T = {
    val before = keys.map(key => key -> context.getLocalProperty(key))
    set(context, Option(context.getLocalProperty(statement)).getOrElse(name))
    try jobs
    finally before.foreach { case (key, value) => context.setLocalProperty(key, value) }
  }

  /** Names the jobs of this thread until [[end]], which takes the answer. */
  def begin(session: SparkSession, name: String): Array[String] = {
    val context = session.sparkContext
    val before = keys.map(context.getLocalProperty)
    val whole = Option(context.getLocalProperty(statement)).getOrElse(name)
    set(context, whole)
    context.setLocalProperty(description, whole)
    before
  }
  def end(session: SparkSession, before: Array[String]): Unit =
    keys.zip(before).foreach { case (key, value) => session.sparkContext.setLocalProperty(key, value) }

  private val description = SparkContext.SPARK_JOB_DESCRIPTION
  private val keys = Array(statement, CallSite.SHORT_FORM, CallSite.LONG_FORM, description)

  /** A description of the user's, or the statement's text that a shell has set, stays. */
  private def set(context: SparkContext, name: String): Unit = {
    context.setLocalProperty(statement, name)
    context.setLocalProperty(CallSite.SHORT_FORM, name)
    context.setLocalProperty(CallSite.LONG_FORM, name)
    if (context.getLocalProperty(description) == null) context.setLocalProperty(description, name)
  }
}
