package org.apache.spark.sql.tablestore

import java.io.{BufferedReader, File, InputStreamReader}
import java.net.InetAddress
import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.Base64

import scala.util.control.NonFatal

import org.apache.spark.api.java.JavaSparkContext
import org.apache.spark.sql.classic.SparkSession
import org.json4s._
import org.json4s.JsonDSL._
import org.json4s.jackson.JsonMethods.compact
import py4j.{ClientServer, Py4JException, PythonClient}

/** The Python side of the bridge, which has one function for each request; see catalog/planner. */
trait Planner {
  def attach(context: AnyRef): Unit
  def counts(): String
  def handle(session: AnyRef, sessionId: String, request: String, argument: String, data: AnyRef,
      reply: Reply): String
}

/** Carries a JVM exception that a nested call raised back to the requesting thread. */
class Reply {
  @volatile var failure: Throwable = _
  def rethrow(cause: Throwable): Unit = failure = cause
}

/** One running planner: the process, and the py4j connection in both directions. */
private[tablestore] class PlannerProcess(session: SparkSession) {
  private val context = session.sparkContext
  private val token = {
    val bytes = new Array[Byte](32)
    new SecureRandom().nextBytes(bytes)
    Base64.getUrlEncoder.withoutPadding.encodeToString(bytes)
  }
  private val log = PlannerLog.of(context.getConf)
  private val isLogJson = PlannerLog.isJson(context.getConf)
  private val process = start()
  private val stdin = process.getOutputStream // stays open: end of file tells the planner that this JVM has ended
  private val stdout = new BufferedReader(new InputStreamReader(process.getInputStream, UTF_8))
  private val server = {
    say("token" -> token)
    // Each side binds a free port at once; a port that is chosen first and bound later may be taken meanwhile.
    new ClientServer.ClientServerBuilder()
      .authToken(token).pythonPort(heard(_.toIntOption)).javaPort(0)
      .javaAddress(loopback).pythonAddress(loopback)
      .socketFactory(new PlannerSockets(process, token)).build()
  }
  server.startServer(true)
  // Another process at the port of a dead planner may receive the token, which is worthless after this.
  process.onExit.thenRun(() => close())
  say(("javaPort" -> server.getJavaServer.getListeningPort) ~ ("log" -> log.getPath) ~
    ("isLogJson" -> isLogJson))
  heard(Option(_).filter(_ == "ready"))
  private val connections = new PlannerConnections(server.getPythonClient.asInstanceOf[PythonClient])
  private val planner: Planner =
    server.getPythonServerEntryPoint(Array[Class[_]](classOf[Planner])).asInstanceOf[Planner]
  asked(_.attach(new JavaSparkContext(context)))

  def counts: Map[String, Long] = Form.map[Long].read(Json.parse(asked(_.counts())))

  /** The planner's answer; the planner's callbacks run on this thread. */
  def asked[T](request: Planner => T): T = connections.lent(request(planner))

  private def loopback = InetAddress.getLoopbackAddress

  private def start(): Process = {
    val builder = new ProcessBuilder(PlannerProcess.python(session), "-P", "-m", "table_store.planner")
    PlannerProcess.memory.foreach { case (name, value) => builder.environment.putIfAbsent(name, value) }
    builder.redirectError(ProcessBuilder.Redirect.appendTo(log))
    builder.start()
  }

  private def say(words: JObject): Unit =
    try { stdin.write((compact(words) + "\n").getBytes(UTF_8)); stdin.flush() }
    catch { case _: java.io.IOException => () } // the planner has ended, which `heard` will report

  private def heard[A](meaning: String => Option[A]): A =
    Option(stdout.readLine()).flatMap(meaning).getOrElse {
      process.destroyForcibly()
      if (server != null) close()
      throw Errors.plannerFailed(PlannerProcess.python(session), log)
    }

  def isAlive: Boolean = process.isAlive

  /** PySpark, which the planner uses, supports one context per process, so another context needs another planner. */
  def serves(session: SparkSession): Boolean =
    isAlive && (session.sparkContext.isStopped || (session.sparkContext eq context))
  def stop(): Unit = { process.destroy(); close() }
  private def close(): Unit =
    try server.shutdown()
    catch { case NonFatal(_) => () }
}

object PlannerProcess {

  /** Makes the allocators return memory of a large plan to the system; by default they keep it for the next plan. */
  private val memory = Map("MALLOC_MMAP_THRESHOLD_" -> "1048576", "MIMALLOC_PURGE_DELAY" -> "0",
    "MIMALLOC_ARENA_EAGER_COMMIT" -> "0")
  @volatile private var running: PlannerProcess = _
  private var hooked = false

  /** The number of requests so far, by name; tests check these instead of measuring time. */
  val requests = new java.util.concurrent.ConcurrentHashMap[String, Integer]()

  /** The Python that is configured for Spark's workers, else that of the environment in which Spark is installed, else
    * `python3` from the PATH. */
  private def python(session: SparkSession): String =
    session.sparkContext.getConf.getOption("spark.pyspark.python")
      .orElse(sys.env.get("PYSPARK_PYTHON")).orElse(besideSpark).getOrElse("python3")

  /** pip puts Spark into lib/pythonX.Y/site-packages/pyspark of an environment. */
  private def besideSpark: Option[String] = sys.env.get("SPARK_HOME")
    .map(home => new File(home).toPath.resolve("../../../../bin/python3").normalize.toFile)
    .filter(_.canExecute).map(_.getPath)

  private def current(session: SparkSession): PlannerProcess = synchronized {
    if (running == null || !running.serves(session)) {
      if (running != null) running.stop()
      running = null
      running = new PlannerProcess(session)
      PlannerCounts.register(session.sparkContext)(() => running.counts)
      if (!hooked) {
        hooked = true
        sys.addShutdownHook { JobsAtExit.end(); synchronized { if (running != null) running.stop() } }
      }
    }
    running
  }

  private val begun = new java.util.concurrent.atomic.AtomicBoolean

  /** Starts the planner in parallel with Spark's own start if the default catalog is ours: statements will need it
    * then. The first request waits for the planner, and starts it again if this start failed. */
  def begin(session: SparkSession): Unit = {
    val conf = session.sparkContext.getConf
    val catalog = conf.get("spark.sql.defaultCatalog", "spark_catalog")
    if (conf.getOption(s"spark.sql.catalog.$catalog").contains(classOf[TableStoreCatalog].getName) && !begun.getAndSet(
        true)) {
      val starter = new Thread(() =>
          try current(session)
          catch { case NonFatal(_) => () }, "table-store-planner-start")
      starter.setDaemon(true)
      starter.start()
    }
  }

  /** The planner whose request this thread is serving: what it calls back for is asked of it alone. If it dies, the
    * statement that it runs must not go on with another one, which does not know for whom the statement commits. */
  private val calling = new ThreadLocal[PlannerProcess]

  /** Null if this thread serves none. */
  private[tablestore] def caller: PlannerProcess = calling.get
  private[tablestore] def callFor(process: PlannerProcess): Unit = calling.set(process)

  /** The planner's answer. If the planner dies, a repeatable request is sent once more. */
  def ask[A](request: Requests.Request[A], data: AnyRef = null): A =
    ask(request, data, request.isRepeatable && caller == null)

  private def ask[A](request: Requests.Request[A], data: AnyRef, mayRepeat: Boolean): A = {
    val session = SparkSession.active
    val process = if (caller == null) current(session) else caller
    val reply = new Reply
    requests.merge(request.name, 1, (a: Integer, b: Integer) => a + b)
    val answer =
      try asked(process)(_.handle(session, session.sessionUUID, request.name, compact(request.toJson), data, reply))
      catch {
        case lost: Py4JException if !waitAlive(process) =>
          if (mayRepeat) return ask(request, data, mayRepeat = false)
          throw Errors.plannerLost(request.name, lost)
      }
    if (reply.failure != null) throw reply.failure
    val parsed = Json.parse(answer)
    parsed \ "error" match {
      case JNothing => request.answer.read(parsed \ "value")
      case error => throw Errors.fromPlanner(new Answers.Failure(error))
    }
  }

  private def asked[A](process: PlannerProcess)(request: Planner => A): A = {
    val before = caller
    callFor(process)
    try process.asked(request)
    finally callFor(before)
  }

  /** Whether the process still lives; a dying process gets a moment to end. */
  private def waitAlive(process: PlannerProcess): Boolean = {
    var waits = 20
    while (process.isAlive && waits > 0) { Thread.sleep(10); waits -= 1 }
    process.isAlive
  }
}
