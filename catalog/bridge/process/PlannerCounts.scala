package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import com.codahale.metrics.{Gauge, MetricRegistry}
import org.apache.spark.SparkContext
import org.apache.spark.metrics.source.Source

/** What the planner counts, as a source of Spark's metrics; it is asked once whenever somebody looks at all of
  * them.
  *
  * @param ask
  *   the counts of the planner that runs now, by name; an error leaves the last ones
  */
class PlannerCounts(ask: () => Map[String, Long]) extends Source {
  override val sourceName: String = "TableStore"
  override val metricRegistry: MetricRegistry = new MetricRegistry
  private var known = ask()
  private val read = scala.collection.mutable.Set.from(known.keys)

  for (name <- known.keys) register(name)(current(name))
  register("planner_requests")(PlannerProcess.requests.values.asScala.map(_.toLong).sum)

  private def register(name: String)(value: => Long): Unit =
    metricRegistry.register(name, new Gauge[Long] { override def getValue: Long = value })

  /** A count that is read a second time since the planner was asked belongs to another look. */
  private def current(name: String): Long = synchronized {
    if (!read.add(name)) {
      try known = ask()
      catch { case NonFatal(_) => () } // the planner has ended; the next statement starts another
      read.clear()
      read.add(name)
    }
    known.getOrElse(name, 0L)
  }
}

object PlannerCounts {
  private var registered: SparkContext = _

  /** Registers the source with a context's metrics, once; if the planner has just ended, the next one does. */
  def register(context: SparkContext)(ask: () => Map[String, Long]): Unit = synchronized {
    if (!(registered eq context)) {
      try {
        context.env.metricsSystem.registerSource(new PlannerCounts(ask))
        registered = context
      } catch { case NonFatal(_) => () }
    }
  }
}
