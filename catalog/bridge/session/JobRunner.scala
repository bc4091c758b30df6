package org.apache.spark.sql.tablestore

import java.util.Properties
import java.util.concurrent.{LinkedBlockingQueue, SynchronousQueue, ThreadPoolExecutor, TimeUnit}
import java.util.concurrent.atomic.AtomicInteger

import scala.collection.mutable
import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.classic

/** Advances the jobs of one Spark context, barrier after barrier. One thread looks with the planner at what the jobs
  * read; the planner says which of them take a barrier, and in which order. Their epochs run in threads that end when
  * they have nothing to do; so does this one when no job runs. */
class JobRunner(session: classic.SparkSession) extends Logging {
  import JobRunner._

  private val context = session.sparkContext
  private val epochsMax = context.getConf.getInt("spark.tablestore.jobs.epochs.max", 4)
  private val pool = context.getConf.getOption("spark.tablestore.jobs.pool")
  private val events = new LinkedBlockingQueue[() => Unit]
  private val workers =
    new ThreadPoolExecutor(0, Int.MaxValue, 10, TimeUnit.SECONDS, new SynchronousQueue[Runnable], daemon(_, "epoch"))

  // Of the runner's thread alone.
  private val waiting = mutable.Buffer.empty[Epoch]
  private val begun = mutable.Set.empty[Epoch]
  private var nextLookMs = 0L

  /** The looks so far; guarded by this, as is whether there will be more. */
  private var looks = 0L
  private var hasEnded = false

  private val thread = daemon(() => run(), "runner")
  thread.start()

  /** Whether it takes more jobs of a session. */
  def takes(user: classic.SparkSession): Boolean =
    synchronized(!hasEnded && !context.isStopped && (user.sparkContext eq context))

  /** Looks as soon as possible, whatever the intervals of jobs. */
  def look(): Unit = events.add(() => nextLookMs = 0)

  /** Returns when jobs have come up to a look that begins from now on, or will not. */
  def flush(jobs: List[Job]): Unit = {
    val asked = ask(jobs)
    // A job that ends wakes nobody.
    while (jobs.exists(job => job.isRunning && job.doneLook < asked)) synchronized(wait(100))
  }

  /** Brings jobs up to a look that begins from now on; its number. */
  def ask(jobs: List[Job]): Long = {
    val asked = synchronized(looks + 1)
    jobs.foreach(_.askedLook = asked)
    look()
    asked
  }

  private def jobs: List[Job] = Jobs.jobs.filter(_.isOf(session))

  private def run(): Unit = {
    context.setLocalProperties(new Properties)
    try while (goesOn) {
        val left = (nextLookMs - System.currentTimeMillis).max(0).min(lookMs)
        Option(events.poll(left, TimeUnit.MILLISECONDS)).foreach { first =>
          first()
          Iterator.continually(events.poll()).takeWhile(_ != null).foreach(_())
        }
        stopTold()
        if (System.currentTimeMillis >= nextLookMs && held.get <= 0 && !context.isStopped) lookNow()
        beginEpochs()
        tellProgress()
      }
    finally {
      workers.shutdown()
      SparkStreams.closeAll()
      if (context.isStopped) jobs.foreach(_.end())
    }
  }

  /** Jobs are added while [[Jobs]] is locked, in which order the locks are taken everywhere. */
  private def goesOn: Boolean = Jobs.synchronized(synchronized {
    hasEnded = context.isStopped || !jobs.exists(_.isRunning)
    !hasEnded
  })

  private def isBusy(job: Job): Boolean = (waiting ++ begun).exists(_.job eq job)

  /** Ends jobs that were told to stop, once their epoch is over. */
  private def stopTold(): Unit = for (job <- jobs if job.isRunning && job.isEnding) {
    waiting.filter(_.job eq job).foreach(drop)
    if (!isBusy(job)) job.command.foreach(told => begin(new Epoch(job, looks, told, None, Nil)))
  }

  private def lookNow(): Unit = {
    val number = synchronized { looks += 1; looks }
    val known = jobs
    val turns =
      known.map(job => Requests.JobTurn(job.listed, isBusy(job), job.isAsked, job.isDraining, job.isRefreshing))
    nextLookMs = System.currentTimeMillis + lookMs
    try {
      val planned = session.withActive(PlannerProcess.ask(Requests.PlanBarrier(turns)))
      nextLookMs = System.currentTimeMillis + planned.pauseMs
      val found = mutable.Map.empty[String, Epoch]
      for (turn <- planned.taken; job <- known.find(_.id == turn.job)) {
        job.listed = turn.listed
        if (turn.epoch.isEmpty && !job.isDraining) done(job, number)
        else {
          val command = if (job.isRefreshing) Requests.JobCommand.refresh
          else job.command.getOrElse(Requests.JobCommand.advance)
          val epoch = new Epoch(job, number, command, turn.epoch, turn.after.flatMap(found.get))
          found(job.id) = epoch
          waiting += epoch
        }
      }
      // Nothing is under way on which they could wait: what is below them has been halted.
      if (waiting.isEmpty && begun.isEmpty) known.filter(_.askedLook > 0).foreach(done(_, number))
    } catch {
      case NonFatal(failure) => if (!context.isStopped) logWarning(s"Jobs go on after: ${failure.getMessage}")
    }
  }

  /** A job has come up to a look. */
  private def done(job: Job, look: Long): Unit = synchronized {
    job.doneLook = job.doneLook.max(look)
    notifyAll()
  }

  private def beginEpochs(): Unit = {
    waiting.filter(_.after.exists(_.outcome.contains(false))).foreach(drop)
    val ready = waiting.filter(_.after.forall(_.outcome.contains(true))).take((epochsMax - begun.size).max(0))
    ready.foreach { epoch =>
      waiting -= epoch
      begin(epoch)
    }
  }

  /** The job is not brought to its barrier. */
  private def drop(epoch: Epoch): Unit = {
    waiting -= epoch
    epoch.outcome = Some(false)
    done(epoch.job, epoch.look)
  }

  /** Tells who watches how far long epochs have come, again after twice as long. */
  private def tellProgress(): Unit = {
    val nowMs = System.currentTimeMillis
    for (epoch <- begun if nowMs >= epoch.begunMs + epoch.toldAfterMs; progress <- epoch.job.progress) {
      epoch.toldAfterMs = (2 * (nowMs - epoch.begunMs)).min(nowMs - epoch.begunMs + progressMsMax)
      session.withActive(EpochLines.show(s"${epoch.job.name}: $progress"))
    }
  }

  private def begin(epoch: Epoch): Unit = {
    begun += epoch
    workers.execute { () =>
      try epoch.job.session.withActive(advance(epoch))
      finally events.add { () =>
          begun -= epoch
          done(epoch.job, epoch.look)
          // Who asked meanwhile is told soon; what goes on by itself comes again after a pause if it has failed.
          val isGood = epoch.outcome.contains(true)
          if (jobs.exists(job => job.isAwaited || isGood && job.isAsked)) nextLookMs = 0
        }
    }
  }

  private def advance(epoch: Epoch): Unit = {
    val job = epoch.job
    context.setLocalProperties(new Properties)
    context.setJobGroup(job.id, s"job ${job.name}")
    pool.foreach(context.setLocalProperty("spark.scheduler.pool", _))
    try {
      val below = epoch.after.flatMap(_.listed)
      val told = if (epoch.command == Requests.JobCommand.suspend) job.suspension else job.lost
      val answer = PlannerProcess.ask(Requests.AdvanceJob(job.listed, epoch.command, epoch.text, below, told))
      job.lost = None
      if (epoch.command == Requests.JobCommand.refresh) job.isRefreshing = false
      job.listed = answer.listed
      job.error = answer.error
      epoch.listed = Some(answer.listed)
      epoch.outcome = Some(!answer.hasFailed)
      if (answer.isOver) {
        job.error.foreach(text => logWarning(s"Job ${job.name} has ended: $text"))
        job.end()
      }
    } catch {
      case NonFatal(failure) =>
        job.lost = Some(String.valueOf(failure.getMessage))
        epoch.outcome = Some(false)
        if (job.isEnding) job.end()
        if (!context.isStopped) logWarning(s"Job ${job.name} goes on after: ${failure.getMessage}")
    } finally context.setLocalProperties(new Properties)
  }
}

object JobRunner {
  private val lookMs = 1000L
  private val progressMsMax = 60000L

  /** How many statements start several jobs now. */
  val held = new AtomicInteger

  /** A job that has taken a barrier, after other ones; `text` is the planner's, `listed` the job's afterwards. */
  private class Epoch(val job: Job, val look: Long, val command: String, val text: Option[String],
      val after: Seq[Epoch]) {
    @volatile var outcome: Option[Boolean] = None
    @volatile var listed: Option[String] = None

    // Of the runner's thread alone.
    val begunMs: Long = System.currentTimeMillis
    var toldAfterMs: Long = lookMs
  }

  private def daemon(run: Runnable, name: String): Thread = {
    val thread = new Thread(run, s"table-store-job-$name")
    thread.setDaemon(true)
    thread
  }
}

/** Lines about epochs for who watches a program. */
object EpochLines {
  def show(line: String): Unit = {
    val conf = classic.SparkSession.active.sparkContext.getConf
    if (conf.getBoolean("spark.tablestore.jobs.progress", defaultValue = false)) System.err.println(line)
  }
}
