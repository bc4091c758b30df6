package org.apache.spark.sql.tablestore

import java.util.concurrent.ConcurrentHashMap

/** Tables that a declarative pipeline has truncated and is about to write. Spark's pipelines bring a materialized view
  * up to date by TRUNCATE TABLE and an append, which become one change here: the TRUNCATE waits for the append. Both are
  * told from those of users by who calls. */
object PipelineWrites {
  private val Truncates = "org.apache.spark.sql.pipelines.graph.DatasetManager"
  private val Appends = "org.apache.spark.sql.pipelines.graph.BatchTableWrite"
  private val awaiting = ConcurrentHashMap.newKeySet[Requests.RelationReference]()

  /** Whether a TRUNCATE of a table is to wait for the rows that its pipeline appends. */
  def awaitsRows(table: Requests.TableReference): Boolean = {
    val waits = isCalledBy(Truncates) && PlannerProcess.ask(Requests.CanAwaitRows(table))
    if (waits) awaiting.add(table.relation) else awaiting.remove(table.relation)
    waits
  }

  /** Whether the rows of a write are what a TRUNCATE waits for, which it does no longer. */
  def areAwaited(write: Requests.Write): Boolean =
    write.mode == Requests.WriteMode.append && write.stream.isEmpty && !awaiting.isEmpty &&
      isCalledBy(Appends) && awaiting.remove(write.table.relation)

  private def isCalledBy(name: String): Boolean =
    Thread.currentThread.getStackTrace.exists(frame =>
      frame.getClassName == name || frame.getClassName.startsWith(name + "$"))
}
