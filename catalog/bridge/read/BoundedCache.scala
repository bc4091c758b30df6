package org.apache.spark.sql.tablestore

import java.util.{LinkedHashMap, Map => JMap}

/** A cache that is limited by the sizes of its values, in any unit; it evicts the least recently used ones first. */
class BoundedCache[K, V](limit: Long, size: V => Long) {
  private val held = new LinkedHashMap[K, V](16, 0.75f, true)
  private var heldSize = 0L

  def get(key: K): Option[V] = synchronized(Option(held.get(key)))

  /** The value of `key`, made if it is not held; two threads that miss at once both make it. */
  def getOrMake(key: K)(make: => V): V = get(key).getOrElse {
    val made = make
    put(key, made)
    made
  }

  def put(key: K, value: V): Unit = synchronized {
    Option(held.put(key, value)).foreach(heldSize -= size(_))
    heldSize += size(value)
    val oldest = held.entrySet.iterator
    while (heldSize > limit && oldest.hasNext) {
      val entry: JMap.Entry[K, V] = oldest.next()
      heldSize -= size(entry.getValue)
      oldest.remove()
    }
  }
}
