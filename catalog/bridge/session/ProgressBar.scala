package org.apache.spark.sql.tablestore

import java.io.Console

import org.apache.spark.SparkContext
import org.apache.spark.internal.config.UI.UI_SHOW_CONSOLE_PROGRESS
import org.apache.spark.ui.ConsoleProgressBar

/** Spark's progress bar in the interactive `spark-sql`, as its other shells have it by themselves. */
object ProgressBar {
  private val shell = "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"
  private var shown: SparkContext = _

  /** Shows it if somebody types statements at a terminal, and no setting says otherwise. */
  def begin(context: SparkContext): Unit = synchronized {
    val isSaid = context.getConf.contains(UI_SHOW_CONSOLE_PROGRESS)
    if (!(shown eq context) && !isSaid && isAtTerminal && isInteractive(command)) {
      shown = context
      // The context takes the bar away before a job's rows are printed; a listener would come too late for that.
      val bar = classOf[SparkContext].getDeclaredField("_progressBar")
      bar.setAccessible(true)
      bar.set(context, Some(new ConsoleProgressBar(context)))
    }
  }

  /** From Java 22 on there is a console without a terminal, too. */
  private def isAtTerminal: Boolean = Option(System.console()).exists(console =>
    try classOf[Console].getMethod("isTerminal").invoke(console) == true
    catch { case _: NoSuchMethodException => true })
  private def command: String = System.getProperty("sun.java.command", "")

  /** Whether a JVM's command line is that of the shell, and names no statements to run. */
  def isInteractive(command: String): Boolean = {
    val words = command.split(" ").toSeq
    val own = words.dropWhile(_ != "spark-internal")
    words.contains(shell) && !own.exists(word =>
      Seq("-e", "-f").exists(option => word == option || (word.startsWith(option) && !word.startsWith("--"))))
  }
}
