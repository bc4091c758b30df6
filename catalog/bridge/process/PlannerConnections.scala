package org.apache.spark.sql.tablestore

import java.util.ArrayDeque

import py4j.{ClientServerConnection, PythonClient}

/** Connections to one planner, each lent to one thread while that asks: what the planner calls back comes by the same
  * connection, and so runs on that thread. Of itself py4j gives every thread one of its own, and the planner a thread to
  * answer there; both stay when the thread that asked has ended. */
private class PlannerConnections(client: PythonClient) {
  private val idleMax = 8
  private val idle = new ArrayDeque[ClientServerConnection]

  /** What a request returns that this thread makes meanwhile. */
  def lent[T](request: => T): T =
    // It has one inside of another request, or when it is there to answer the planner.
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

  /** One that failed may be in the middle of an answer; of those at rest a few are kept. */
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
