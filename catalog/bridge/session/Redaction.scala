package org.apache.spark.sql.tablestore

import org.apache.spark.{QueryContext, SparkContext}
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils

/** Hides matches of the session's `spark.sql.redaction.string.regex` where Spark itself does not: spark-sql uses the
  * whole statement as the description of its jobs, and errors of the parser quote the statement. */
object Redaction {
  private val description = "spark.job.description"
  private def hidden(text: String): String = Utils.redact(SQLConf.get.stringRedactionPattern, text)

  def ofStatement[A](context: SparkContext)(parse: => A): A = {
    val said = context.getLocalProperty(description)
    if (said != null) {
      val shown = hidden(said)
      if (shown != said) context.setLocalProperty(description, shown)
    }
    try parse
    catch {
      case error: ParseException if error.command.exists(text => hidden(text) != text) =>
        throw new ParseException(error.command.map(hidden), error.start, error.getCondition,
          error.messageParameters, Array.empty[QueryContext])
    }
  }
}
