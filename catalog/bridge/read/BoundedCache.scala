package org.apache.spark.sql.tablestore

import java.util.{LinkedHashMap, Map => JMap}

/** What was used lately, up to a sum of bytes; least recently used goes first. */
class BoundedCache[V](limitBytes: Long, bytes: V => Long) {
  private val held = new LinkedHashMap[String, V](16, 0.75f, true)
  private var heldBytes = 0L

  def get(key: String): Option[V] = synchronized(Option(held.get(key)))

  def put(key: String, value: V): Unit = synchronized {
    Option(held.put(key, value)).foreach(heldBytes -= bytes(_))
    heldBytes += bytes(value)
    val oldest = held.entrySet.iterator
    while (heldBytes > limitBytes && oldest.hasNext) {
      val entry: JMap.Entry[String, V] = oldest.next()
      heldBytes -= bytes(entry.getValue)
      oldest.remove()
    }
  }
}
