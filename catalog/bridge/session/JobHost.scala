package org.apache.spark.sql.tablestore

import java.util.concurrent.{ConcurrentLinkedQueue, Executors, TimeUnit}

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic

/** The job runner of a warehouse: it hosts the jobs that were submitted to it and refreshes the views that have a
  * schedule. Once per second it asks the planner what to do. Of several on one warehouse one works, and the others stand
  * by. */
class JobHost(session: classic.SparkSession, catalog: Requests.CatalogReference) extends Logging {
  import JobHost._

  private val context = session.sparkContext
  private val refreshesMax = context.getConf.getInt("spark.tablestore.jobs.epochs.max", 4)
  private val refreshes = Executors.newFixedThreadPool(
    refreshesMax,
    (run: Runnable) => {
      val thread = new Thread(run, "table-store-view-refresh")
      thread.setDaemon(true)
      thread
    })
  private val refreshed = new ConcurrentLinkedQueue[Requests.RefreshedView]
  private var host = ""
  private var isHost: Option[Boolean] = None
  private var isLeaving = false

  /** Returns when the program ends. */
  def run(): Unit = while (!context.isStopped && looksAgain) Thread.sleep(lookMs)

  /** Ends the work in good order: epochs that have begun end, and another program may go on. */
  def leave(): Unit = synchronized {
    if (!isLeaving) {
      isLeaving = true
      refreshes.shutdown()
      Jobs.running.foreach(Jobs.tell(_, Requests.JobCommand.leave))
      Jobs.awaitAll()
      if (!refreshes.awaitTermination(patienceMs, TimeUnit.MILLISECONDS)) context.cancelAllJobs()
      // Nobody could say more of a failure than who takes over.
      if (isHost.contains(true)) attempt(ask())
    }
  }

  private def looksAgain: Boolean = synchronized {
    if (!isLeaving) attempt {
      val work = ask()
      if (!isHost.contains(work.isHost)) say(
        if (work.isHost) s"Hosts the jobs of catalog ${catalog.name}."
        else s"Stands by: another program hosts the jobs of catalog ${catalog.name}.")
      isHost = Some(work.isHost)
      work.start.foreach { started =>
        Jobs.start(session, started)
        say(s"Job ${started.name} begins.")
      }
      work.tell.foreach(tell)
      work.refresh.foreach(view => refreshes.execute(() => refresh(view)))
    }
    !isLeaving
  }

  private def ask(): Answers.HostedWork = {
    val ended = Iterator.continually(refreshed.poll()).takeWhile(_ != null).toList
    try {
      val jobs = Jobs.jobs.filter(_.isOf(session)).map(_.listed)
      val work = session.withActive(PlannerProcess.ask(Requests.HostJobs(catalog, host, jobs, ended, isLeaving)))
      host = work.host
      work
    } catch {
      case failure: Throwable =>
        ended.foreach(refreshed.add)
        throw failure
    }
  }

  private def tell(told: Answers.ToldJob): Unit = for (job <- Jobs.running.find(_.id == told.job)) told.command match {
    case Requests.HostCommand.flush => Jobs.ask(job.id)
    case Requests.HostCommand.refresh => Jobs.refresh(job.id)
    case Requests.HostCommand.suspend => Jobs.tellSuspension(job, told.reason.getOrElse(""))
    case command => Jobs.tell(job, command)
  }

  private def refresh(view: Answers.DueView): Unit = {
    val error =
      try {
        val own = session.newSession()
        context.setJobGroup(view.path, view.statement)
        own.withActive(own.sql(view.statement).collect())
        None
      } catch {
        case NonFatal(failure) =>
          if (!context.isStopped) logWarning(s"${view.statement} comes again after: ${failure.getMessage}")
          Some(String.valueOf(failure.getMessage))
      }
    refreshed.add(Requests.RefreshedView(view.path, error))
  }

  private def attempt(work: => Unit): Unit =
    try work
    catch { case NonFatal(failure) => if (!context.isStopped) logWarning(s"Goes on after: ${failure.getMessage}") }
}

/** The application of `table-store jobs`; its argument is the name of a catalog, by default the current one. */
object JobHost {
  private val lookMs = 1000L
  private val patienceMs = 60000L
  @volatile private var current: Option[JobHost] = None

  def main(arguments: Array[String]): Unit = {
    val session = classic.SparkSession.builder().getOrCreate()
    val catalogs = session.sessionState.catalogManager
    val name = arguments.headOption.getOrElse(catalogs.currentCatalog.name)
    session.withActive(catalogs.catalog(name)) match {
      case catalog: TableStoreCatalog =>
        val host = new JobHost(session, catalog.reference)
        current = Some(host)
        JobsAtExit.prepare()
        host.run()
      case _ =>
        say(s"Catalog $name is none of the table store's. Name one that is: table-store jobs --catalog NAME")
        System.exit(1)
    }
  }

  /** Ends the work of this program's host, if it is one. */
  def leave(): Unit = current.foreach(_.leave())
  private def say(line: String): Unit = System.err.println(line)
}
