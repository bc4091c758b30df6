package org.apache.spark.sql.tablestore

import java.util
import java.util.concurrent.TimeUnit

import scala.util.control.NonFatal

import org.apache.hadoop.util.ShutdownHookManager
import org.apache.spark.util.Utils
import sun.misc.Signal

/** What becomes of jobs when their program ends. `spark-sql -f` stays until its jobs have ended or it is told to
  * stop, but for those that write temporary tables; a script of which a statement has failed and every other program
  * stop them. */
object JobsAtExit {

  /** Before Spark's own hooks, of which the first stops the context with priority 50. */
  private val priority = 1000
  private val signals = Seq("TERM", "INT")
  private var isPrepared = false
  @volatile private var hasEnded = false
  @volatile private var isScript = false

  /** Called by the thread of the statement that starts a job. */
  def prepare(): Unit = synchronized {
    if (!isPrepared) {
      isPrepared = true
      isScript = runsScript
      // Spark's manager ends its hooks after 30 s, and takes no new ones while they run.
      ShutdownHookManager.get().addShutdownHook(() => end(), priority, Long.MaxValue, TimeUnit.NANOSECONDS)
      // The default handlers do nothing while hooks run. A script has no other ones.
      if (isScript) signals.foreach(name => Signal.handle(new Signal(name), told(_)))
    }
  }

  /** Returns when no job runs any more; several hooks wait for it. */
  def end(): Unit = synchronized {
    if (!hasEnded) {
      hasEnded = true
      JobHost.leave()
      val running = Jobs.running
      val hasFailed = isScript && exitCode != 0
      val (temporary, others) = running.partition(_.endsWith.isDefined)
      temporary.foreach(Jobs.tell(_, Requests.JobCommand.stop))
      if ((!isScript || hasFailed) && others.nonEmpty) {
        val names = others.map(_.name).mkString(", ")
        val reason = if (hasFailed) "A statement of the script has failed. " else ""
        System.err.println(
          s"${reason}Ends with this program: job $names. The same INSERT with the same 'pipeline.name' resumes.")
        others.foreach(Jobs.tell(_, Requests.JobCommand.stop))
      }
      whereTasksMayFail(Jobs.awaitAll())
      for (job <- running; error <- job.error)
        System.err.println(Errors.jobEnded(job.name, error).getMessage)
    }
  }

  /** While the JVM ends, Spark's executor tells nobody that a task has failed, so the statement would wait for ever. It
    * finds out by adding a hook, which the JVM then refuses. So hooks are taken until `body` has returned; they are not
    * run. */
  private def whereTasksMayFail(body: => Unit): Unit = {
    val hooks =
      try {
        val field = Utils.classForName[AnyRef]("java.lang.ApplicationShutdownHooks").getDeclaredField("hooks")
        field.setAccessible(true) // Spark's programs open the package
        Option.when(field.get(null) == null)(field)
      } catch { case _: ReflectiveOperationException | NonFatal(_) => None }
    hooks.foreach(_.set(null, new util.IdentityHashMap[Thread, Thread]))
    try body
    finally hooks.foreach(_.set(null, null))
  }

  private def told(signal: Signal): Unit = {
    Jobs.running.foreach(Jobs.tell(_, Requests.JobCommand.stop))
    // Within a hook it would wait for itself.
    if (!hasEnded && !org.apache.spark.util.ShutdownHookManager.inShutdown()) {
      val exit = new Thread(() => System.exit(128 + signal.getNumber), "table-store-exit")
      exit.setDaemon(true)
      exit.start()
    }
  }

  /** What `spark-sql` ends with: not 0 if a statement of the script has failed. */
  private def exitCode: Int =
    try {
      val shell = Utils.classForName[AnyRef]("org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver$")
      val code = shell.getDeclaredField("exitCode")
      code.setAccessible(true)
      code.getInt(null)
    } catch { case _: ReflectiveOperationException | _: LinkageError | NonFatal(_) => 0 }

  /** Whether this is `spark-sql` with -f or -e. */
  private def runsScript: Boolean =
    try {
      val state =
        Utils.classForName[AnyRef]("org.apache.hadoop.hive.ql.session.SessionState").getMethod("get").invoke(null)
      state != null && Seq("fileName", "execString").exists(name => state.getClass.getField(name).get(state) != null)
    } catch { case _: ReflectiveOperationException | _: LinkageError | NonFatal(_) => false }
}
