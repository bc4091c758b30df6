package org.apache.spark.sql.tablestore

import java.util

/** Few changes of tables, in the driver: each is read once for all jobs that follow the table, and what a job has written
  * need not be read again by those that follow its sink. Those that were asked for last stay. */
object SharedChanges {
  private val entriesMax = 64
  private val rowsMax = 1000000
  private val entries = new util.LinkedHashMap[String, HeldRows](16, 0.75f, true)
  private var rowCount = 0

  /** The key says of which table and between which snapshots, so that there is one content for it. */
  def put(key: String, changes: HeldRows): Unit = synchronized {
    val before = Option(entries.put(key, changes)).fold(0)(_.rows.size)
    rowCount += changes.rows.size - before
    val eldest = entries.values.iterator
    while (entries.size > entriesMax || rowCount > rowsMax) {
      rowCount -= eldest.next().rows.size
      eldest.remove()
    }
  }

  /** With columns of their own, so that a query may have them twice. */
  def get(key: String): Option[HeldRows] = synchronized(Option(entries.get(key))).map(_.newInstance())
}
