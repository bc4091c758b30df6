package org.apache.spark.sql.tablestore

import java.util.ArrayDeque

import py4j.{ClientServerConnection, PythonClient}

/** A pool of connections to one planner; each is lent to one thread during its request. The planner's callbacks use
  * the same connection and so run on that thread. py4j by itself gives every thread a connection of its own, and a
  * thread of the planner to serve it; both stay after the requesting thread has ended. */
private class PlannerConnections(client: PythonClient) {
  private val idleMax = 8
  private val idle = new ArrayDeque[ClientServerConnection]

  /** Sends a request with a connection lent to this thread, and returns the request's result. */
  def lent[T](request: => T): T =
    // The thread has a connection already within another request, or if it serves a callback of the planner.
    if (isOpen(client.getPerThreadConnection)) request
    else {
      client.setPerThreadConnection(idle.synchronized(idle.pollLast()))
      var isWhole = false
      try {
        val answer = request
        isWhole = true
        answer
      } finally takeBack(isWhole)
    }

  /** A connection whose request failed may have unread data, so it is closed; a few idle ones are kept. */
  private def takeBack(isWhole: Boolean): Unit = {
    val used = client.getPerThreadConnection
    client.setPerThreadConnection(null)
    if (used != null && !(isWhole && isOpen(used) && isKept(used))) {
      if (isOpen(used)) used.shutdown()
      client.connectionStopped(used) // else the client keeps it
    }
  }

  private def isKept(connection: ClientServerConnection): Boolean =
    idle.synchronized { idle.size < idleMax && idle.add(connection) }

  private def isOpen(connection: ClientServerConnection): Boolean = connection != null && connection.getSocket != null
}
