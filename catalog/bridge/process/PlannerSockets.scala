package org.apache.spark.sql.tablestore

import java.io.IOException
import java.net.{InetAddress, Socket, SocketTimeoutException}
import java.nio.charset.StandardCharsets.UTF_8
import java.security.{MessageDigest, SecureRandom}
import javax.crypto.Mac
import javax.crypto.spec.SecretKeySpec
import javax.net.SocketFactory

/** Connections to one planner and to no other process. After the planner has died, any process may listen at its
  * port and would receive the token, with which it could make this JVM execute requests. So a connection begins with
  * a random challenge, and is used only if the HMAC-SHA256 of it under the token comes back; see
  * catalog/planner/process/gateway.py. */
class PlannerSockets(process: Process, token: String) extends SocketFactory {
  private val challengeBytes = 32
  private val lookEveryMs = 1000

  override def createSocket(address: InetAddress, port: Int): Socket = {
    if (!process.isAlive) throw new IOException("the planner has ended")
    val socket = new Socket(address, port)
    // A request goes out in pieces of 8 KB, of which the last would wait 40 ms for the other side's acknowledgement.
    socket.setTcpNoDelay(true)
    try prove(socket)
    catch { case refused: IOException => socket.close(); throw refused }
    socket
  }

  private def prove(socket: Socket): Unit = {
    val challenge = new Array[Byte](challengeBytes)
    new SecureRandom().nextBytes(challenge)
    socket.getOutputStream.write(challenge)
    val mac = Mac.getInstance("HmacSHA256")
    mac.init(new SecretKeySpec(token.getBytes(UTF_8), mac.getAlgorithm))
    if (!MessageDigest.isEqual(mac.doFinal(challenge), answer(socket, mac.getMacLength)))
      throw new IOException("another process listens at the planner's port")
  }

  /** The server's response to the challenge; waits for a busy planner as long as it lives. */
  private def answer(socket: Socket, length: Int): Array[Byte] = {
    val bytes = new Array[Byte](length)
    var have = 0
    socket.setSoTimeout(lookEveryMs)
    while (have < length)
      try {
        val read = socket.getInputStream.read(bytes, have, length - have)
        if (read < 0) throw new IOException("the planner closed the connection")
        have += read
      } catch { case _: SocketTimeoutException if process.isAlive => () }
    bytes
  }

  override def createSocket(host: String, port: Int): Socket = createSocket(InetAddress.getByName(host), port)
  override def createSocket(host: String, port: Int, local: InetAddress, localPort: Int): Socket =
    throw new UnsupportedOperationException("a connection to the planner chooses no port of its own")
  override def createSocket(address: InetAddress, port: Int, local: InetAddress, localPort: Int): Socket =
    createSocket(address.getHostAddress, port, local, localPort)
}
