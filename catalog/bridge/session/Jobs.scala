package org.apache.spark.sql.tablestore

import java.util.concurrent.{CountDownLatch, TimeUnit}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic
import org.json4s.{JArray, JObject, JString}
import org.json4s.jackson.JsonMethods.compact

/** A streaming INSERT, which [[JobRunner]] advances in a session of its own. What the job is and how it is, is a text of
  * the planner's, which outlives the planner here. */
class Job(user: classic.SparkSession, started: Answers.StartedJob) {
  val session: classic.SparkSession = StoredQueries.besides(user)
  val id: String = started.id
  val name: String = started.name
  val commitUser: String = started.commitUser

  /** The session that it ends with, because its table is one of that session. */
  val endsWith: Option[String] = if (started.isTemporary) Some(user.sessionUUID) else None
  private val context = session.sparkContext
  private val over = new CountDownLatch(1)
  private val lookMs = 1000L
  private val cancelling = Set(Requests.JobCommand.stop, Requests.JobCommand.suspend)
  @volatile var listed: String = started.listed
  @volatile var error: Option[String] = None

  /** Why the planner did not answer the last request. */
  @volatile var lost: Option[String] = None

  /** Why it is to be suspended. */
  @volatile var suspension: Option[String] = None

  /** What it was told to do: to drain, to stop, to be suspended, or to leave this program. */
  @volatile var command: Option[String] = None

  /** Whether its next epoch is to make its sink equal to the whole result. */
  @volatile var isRefreshing = false

  /** The runner's number of the look at which somebody waits for it, and of the one up to which it has come. */
  @volatile var askedLook = 0L
  @volatile var doneLook = 0L

  def isRunning: Boolean = over.getCount > 0 && !context.isStopped
  def isOf(other: classic.SparkSession): Boolean = context eq other.sparkContext
  def isAwaited: Boolean = askedLook > doneLook
  def isAsked: Boolean = isAwaited || isDraining || isRefreshing
  def isDraining: Boolean = command.contains(Requests.JobCommand.drain)
  def isCancelled: Boolean = command.exists(cancelling.contains)
  def isEnding: Boolean = isCancelled || command.contains(Requests.JobCommand.leave)
  def end(): Unit = over.countDown()
  def cancel(): Unit = context.cancelJobGroup(id)

  /** How far its epoch has come, if Spark works for it. */
  def progress: Option[String] = if (isRunning) EpochProgress.of(context, id) else None

  /** Returns when it has ended. */
  def await(): Unit = while (isRunning && !over.await(lookMs, TimeUnit.MILLISECONDS)) ()
}

/** The jobs of this program. */
object Jobs {
  private val known = new java.util.LinkedHashMap[String, Job]
  private var runner: Option[JobRunner] = None

  /** Begins a job in place of an ended run of the same statement. */
  def start(user: classic.SparkSession, started: Answers.StartedJob): Job = {
    val job = new Job(user, started)
    JobsAtExit.prepare()
    synchronized {
      known.values.removeIf(other => !other.isOf(user))
      known.remove(started.commitUser)
      known.put(started.commitUser, job)
      if (!runner.exists(_.takes(user))) runner = Some(new JobRunner(job.session))
      runner.foreach(_.look())
    }
    job
  }

  def jobs: List[Job] = synchronized(known.values.asScala.toList)
  def running: List[Job] = jobs.filter(_.isRunning)

  /** The planner's texts of all jobs, in the order of their start, as a JSON array. */
  def all(): String = compact(JArray(jobs.map(job => JString(job.listed))))

  /** How far the epochs of running jobs have come, by the jobs' ids, as a JSON object. */
  def progress(): String =
    compact(JObject(running.flatMap(job => job.progress.map(text => job.id -> JString(text)))))

  /** Ends a job and returns when it has ended; with `drains` only after an epoch that has followed the sources up to
    * now. */
  def stop(id: String, drains: Boolean): Unit = jobs.find(_.id == id).foreach { job =>
    tell(job, if (drains) Requests.JobCommand.drain else Requests.JobCommand.stop)
    job.await()
  }

  /** Ends the jobs that write temporary tables of a session. */
  def endWith(session: classic.SparkSession): Unit =
    running.filter(_.endsWith.contains(session.sessionUUID)).foreach(job => stop(job.id, drains = false))

  /** Keeps how an ended job is from now on. */
  def note(id: String, listed: String): Unit = jobs.find(_.id == id).foreach(_.listed = listed)

  /** Tells a job what to do, and does not wait for it. */
  def tell(job: Job, command: String): Unit = {
    job.command = Some(command)
    if (job.isCancelled) job.cancel()
    current.foreach(_.look())
  }

  /** Returns when some jobs have followed their sources up to now, have failed to, or have ended. */
  def flush(ids: java.util.List[String]): Unit =
    current.foreach(_.flush(jobs.filter(job => ids.contains(job.id))))

  /** The same, without waiting for it. */
  def ask(id: String): Unit = current.foreach(_.ask(running.filter(_.id == id)))

  /** Waits on behalf of the planner. */
  def pause(milliseconds: Long): Unit = Thread.sleep(milliseconds)

  /** Until [[release]] no barrier is cut, so that jobs which are started meanwhile begin with the same one. */
  def hold(): Unit = synchronized(JobRunner.held.incrementAndGet())
  def release(): Unit = synchronized {
    JobRunner.held.decrementAndGet()
    runner.foreach(_.look())
  }

  /** Returns when jobs have ended; fails if one of them has ended with an error. */
  def awaitEnded(ids: java.util.List[String]): Unit = {
    val awaited = jobs.filter(job => ids.contains(job.id))
    awaited.foreach(_.await())
    for (job <- awaited; error <- job.error) throw Errors.jobEnded(job.name, error)
  }

  private def current: Option[JobRunner] = synchronized(runner)

  /** Lets the next epoch of a job make the sink equal to the whole result, whoever wrote its rows. */
  def refresh(id: String): Unit = running.find(_.id == id).foreach { job =>
    job.isRefreshing = true
    current.foreach(_.look())
  }

  /** Suspends a job, if it runs, and returns when it has ended. */
  def suspend(id: String, reason: String): Unit = running.find(_.id == id).foreach { job =>
    tellSuspension(job, reason)
    job.await()
  }
  def tellSuspension(job: Job, reason: String): Unit = {
    job.suspension = Some(reason)
    tell(job, Requests.JobCommand.suspend)
  }

  /** Returns when no job runs, with the number of those that did. */
  def awaitAll(): Int = {
    val awaited = Iterator.continually(running).takeWhile(_.nonEmpty).map { running =>
      running.foreach(_.await())
      running.map(_.id)
    }
    awaited.flatten.toSet.size
  }
}
