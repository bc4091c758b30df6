package org.apache.spark.sql.tablestore

import java.util.{LinkedHashMap, Map => JMap}

/** A cache that is limited by the bytes of its values; it evicts the least recently used ones first. */
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
