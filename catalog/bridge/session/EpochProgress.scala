package org.apache.spark.sql.tablestore

import org.apache.spark.{JobExecutionStatus, SparkContext}

/** How far the epoch of a job has come, by what Spark runs for it now; a task of the first rows of a database's table
  * reads one chunk. */
object EpochProgress {

  /** None while Spark runs nothing for it. */
  def of(context: SparkContext, job: String): Option[String] = {
    val (tracker, store) = (context.statusTracker, context.statusStore)
    val jobs = tracker.getJobIdsForGroup(job).toSeq.flatMap(tracker.getJobInfo(_))
    val stages = jobs.filter(_.status == JobExecutionStatus.RUNNING).flatMap(_.stageIds).distinct.sorted
    stages.flatMap(tracker.getStageInfo(_)).find(_.numActiveTasks > 0).map { stage =>
      val seen = store.asOption(store.lastStageAttempt(stage.stageId))
      val rows = seen.fold(0L)(attempt => attempt.inputRecords + attempt.shuffleReadRecords)
      s"${stage.numCompletedTasks} of ${stage.numTasks} tasks, $rows rows"
    }
  }
}
