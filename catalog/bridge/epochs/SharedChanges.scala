package org.apache.spark.sql.tablestore

import java.util

/** Few changes of tables, in the driver: each is read once for all jobs that follow the table, and what a job has written
  * need not be read again by those that follow its sink. Those that were asked for last stay. */
object SharedChanges {
  private val entriesMax = 64
  private val rowsMax = 20000
  private val entries = new util.LinkedHashMap[String, HeldRows](16, 0.75f, true) {
    override def removeEldestEntry(eldest: util.Map.Entry[String, HeldRows]): Boolean = size > entriesMax
  }

  /** The key says of which table and between which snapshots, so that there is one content for it. */
  def put(key: String, changes: HeldRows): Unit =
    if (changes.rows.size <= rowsMax) synchronized(entries.put(key, changes))

  /** With columns of their own, so that a query may have them twice. */
  def get(key: String): Option[HeldRows] = synchronized(Option(entries.get(key))).map(_.newInstance())
}
