package org.apache.spark.sql.tablestore

import java.util.concurrent.{CountDownLatch, LinkedBlockingQueue, TimeUnit}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic
import org.json4s.{JArray, JString}
import org.json4s.jackson.JsonMethods.compact

/** A streaming INSERT: a thread with a session of its own that asks the planner for one epoch after the other. What the
  * job is and how it is, is a text of the planner's, which outlives the planner here. */
class Job(user: classic.SparkSession, started: Answers.StartedJob) extends Logging {
  private val session = JobQuery.besides(user)
  private val context = session.sparkContext
  private val commands = new LinkedBlockingQueue[String]
  private val over = new CountDownLatch(1)
  private val lookMs = 1000L
  val id: String = started.id
  val name: String = started.name
  val commitUser: String = started.commitUser
  @volatile var listed: String = started.listed
  @volatile var error: Option[String] = None
  @volatile private var why: Option[String] = None

  private val thread = new Thread(() => session.withActive(run()), s"table-store-job-$name")
  thread.setDaemon(true)

  def begin(): Unit = thread.start()
  def isRunning: Boolean = over.getCount > 0 && !context.isStopped
  def await(): Unit = while (isRunning && !over.await(lookMs, TimeUnit.MILLISECONDS)) ()

  /** Ends the job; with `drains` only after an epoch that has followed the sources up to now. */
  def stop(drains: Boolean): Unit = {
    commands.add(if (drains) Requests.JobCommand.drain else Requests.JobCommand.stop)
    if (!drains) context.cancelJobGroup(id)
  }

  /** Lets the next epoch make the sink equal to the whole result, whoever wrote its rows. */
  def refresh(): Unit = commands.add(Requests.JobCommand.refresh)

  /** Ends the job in the middle of an epoch, because it cannot go on. */
  def suspend(reason: String): Unit = {
    why = Some(reason)
    commands.add(Requests.JobCommand.suspend)
    context.cancelJobGroup(id)
  }

  private def run(): Unit =
    try {
      context.setJobGroup(id, s"job $name")
      var command = Requests.JobCommand.advance
      var lost: Option[String] = None
      var isOver = false
      while (!isOver && !context.isStopped) {
        var pauseMs = lookMs
        try {
          val told = if (command == Requests.JobCommand.suspend) why else lost
          val answer = PlannerProcess.ask(Requests.AdvanceJob(listed, command, told))
          lost = None
          listed = answer.listed
          error = answer.error
          pauseMs = answer.pauseMs
          isOver = answer.isOver
          if (command == Requests.JobCommand.refresh) command = Requests.JobCommand.advance
        } catch {
          case NonFatal(failure) =>
            lost = Some(String.valueOf(failure.getMessage))
            isOver = command == Requests.JobCommand.stop || command == Requests.JobCommand.suspend
            if (!context.isStopped) logWarning(s"Job $name goes on after: ${failure.getMessage}")
        }
        if (!isOver) command = next(pauseMs).getOrElse(command)
      }
      error.foreach(text => if (!context.isStopped) logWarning(s"Job $name has ended: $text"))
    } finally over.countDown()

  /** What to do after a pause, which a command ends. */
  private def next(pauseMs: Long): Option[String] = {
    val end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pauseMs)
    var left = pauseMs
    var found: Option[String] = None
    while (found.isEmpty && left > 0 && !context.isStopped) {
      found = Option(commands.poll(left.min(lookMs), TimeUnit.MILLISECONDS))
      left = TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())
    }
    found
  }
}

/** The jobs of this program. */
object Jobs {
  private val known = new java.util.LinkedHashMap[String, Job]

  /** Begins a job in place of an ended run of the same statement. */
  def start(user: classic.SparkSession, started: Answers.StartedJob): Job = {
    val job = new Job(user, started)
    JobsAtExit.prepare()
    synchronized { known.remove(started.commitUser); known.put(started.commitUser, job) }
    job.begin()
    job
  }

  private def jobs: List[Job] = synchronized(known.values.asScala.toList)
  def running: List[Job] = jobs.filter(_.isRunning)

  /** The planner's texts of all jobs, in the order of their start, as a JSON array. */
  def all(): String = compact(JArray(jobs.map(job => JString(job.listed))))

  /** Stops a job and returns when it has ended. */
  def stop(id: String, drains: Boolean): Unit = jobs.find(_.id == id).foreach { job =>
    job.stop(drains)
    job.await()
  }

  def refresh(id: String): Unit = running.find(_.id == id).foreach(_.refresh())

  /** Suspends a job, if it runs, and returns when it has ended. */
  def suspend(id: String, reason: String): Unit = running.find(_.id == id).foreach { job =>
    job.suspend(reason)
    job.await()
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
