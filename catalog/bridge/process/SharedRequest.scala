package org.apache.spark.sql.tablestore

import java.util.Properties

import org.apache.spark.sql.classic.SparkSession

/** What belongs to a thread that serves a request of a planner: threads that work for the same request beside it begin
  * with it, and end without it. */
class SharedRequest private[tablestore] (planner: PlannerProcess, session: SparkSession, properties: Properties) {

  /** Lets this thread, which serves the planner's thread that calls, work for the request until [[end]]. */
  def begin(): Unit = bind(planner, session, properties.clone().asInstanceOf[Properties])
  def end(): Unit = bind(null, null, new Properties)

  private def bind(planner: PlannerProcess, active: SparkSession, own: Properties): Unit = {
    PlannerProcess.callFor(planner)
    session.sparkContext.setLocalProperties(own)
    if (active == null) SparkSession.clearActiveSession() else SparkSession.setActiveSession(active)
  }
}

object SharedRequest {

  /** That of this thread. */
  def current(session: SparkSession): SharedRequest =
    new SharedRequest(PlannerProcess.caller, session, session.sparkContext.getLocalProperties)
}
