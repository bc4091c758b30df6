package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.internal.config.ConfigEntry
import org.apache.spark.sql.internal.SQLConf

/** The settings that a stored text of SQL keeps, because the text means or returns something else without them: all that
  * a session can set, except those that are known to change no result.
  *
  * Spark's own rule for views leaves out `spark.sql.optimizer.`, of which some decide what correlated subqueries return.
  */
object KeptSettings {

  /** Stored even where they have their defaults: a later version of Spark, or another machine, may have other ones. */
  private val always = Seq(
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.enforceReservedKeywords",
    "spark.sql.ansi.relationPrecedence",
    "spark.sql.caseSensitive",
    "spark.sql.charAsVarchar",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.jsonGenerator.ignoreNullFields",
    "spark.sql.legacy.charVarcharAsString",
    "spark.sql.legacy.ctePrecedencePolicy",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
    "spark.sql.legacy.literal.pickMinimumPrecision",
    "spark.sql.legacy.setopsPrecedence.enabled",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType"
  )

  /** How the keys of settings begin that change no result, by the reason. */
  private val leftOut: Map[String, Seq[String]] = Map(
    "how a plan is executed, and how much memory and how many tasks it takes" -> Seq(
      "spark.sql.adaptive.",
      "spark.sql.autoBroadcastJoinThreshold",
      "spark.sql.broadcastTimeout",
      "spark.sql.bucketing.coalesceBucketsInJoin.",
      "spark.sql.cartesianProductExec.",
      "spark.sql.cbo.",
      "spark.sql.classic.shuffleDependency.",
      "spark.sql.codegen.",
      "spark.sql.execution.",
      "spark.sql.files.max",
      "spark.sql.files.min",
      "spark.sql.files.openCostInBytes",
      "spark.sql.inMemoryColumnarStorage.",
      "spark.sql.inMemoryTableScanStatistics.",
      "spark.sql.join.preferSortMergeJoin",
      "spark.sql.leafNodeDefaultParallelism",
      "spark.sql.limit.",
      "spark.sql.maxBroadcastTableSize",
      "spark.sql.maxConcurrentOutputFileWriters",
      "spark.sql.maxSinglePartitionBytes",
      "spark.sql.objectHashAggregate.",
      "spark.sql.sessionWindow.buffer.",
      "spark.sql.shuffle.",
      "spark.sql.shuffleDependency.",
      "spark.sql.shuffledHashJoinFactor",
      "spark.sql.sort.",
      "spark.sql.sortMergeJoinExec.",
      "spark.sql.statistics.",
      "spark.sql.subexpressionElimination.",
      "spark.sql.windowExec."
    ),
    "what is logged and shown, and the Java class of a collected value" -> Seq(
      "spark.sql.binaryOutputStyle",
      "spark.sql.cli.",
      "spark.sql.datetime.java8API.enabled",
      "spark.sql.debug.",
      "spark.sql.expressionTreeChangeLog.",
      "spark.sql.maxMetadataStringLength",
      "spark.sql.maxPlanStringLength",
      "spark.sql.nameResolutionLog.",
      "spark.sql.planChangeLog.",
      "spark.sql.redaction.",
      "spark.sql.repl.",
      "spark.sql.stackTracesInDataFrameContext",
      "spark.sql.thriftServer.",
      "spark.sql.thriftserver.",
      "spark.sql.ui."
    ),
    "queries of streams and pipelines" -> Seq("spark.sql.pipelines.", "spark.sql.streaming."),
    "the programs and catalogs of a session, which are those of whoever evaluates the text" -> Seq(
      "spark.sql.artifact.",
      "spark.sql.catalog.",
      "spark.sql.connect.",
      "spark.sql.defaultCatalog",
      "spark.sql.maven.",
      "spark.sql.pyspark.",
      "spark.sql.session.localRelation"
    ),
    "the format of tables that are made" -> Seq("spark.sql.sources.default"),
    "substitution in a text, which is done before it is stored" -> Seq("spark.sql.variable.substitute")
  )

  private def isLeftOut(key: String): Boolean = leftOut.values.flatten.exists(key.startsWith)

  /** The entries of those that a session can set, whatever library has declared them. */
  private def entries: Iterable[ConfigEntry[_]] = SQLConf.getConfigEntries().asScala
    .filterNot(entry => SQLConf.isStaticConfigKey(entry.key) || isLeftOut(entry.key))

  private def names(entry: ConfigEntry[_]): Seq[String] = entry.key +: entry.alternatives

  /** What a text keeps that has its meaning in a session with such settings. */
  def of(conf: SQLConf): Map[String, String] = {
    val stated = conf.getAllConfs
    val changed = for (entry <- entries; value <- names(entry).flatMap(stated.get).headOption) yield entry.key -> value
    always.map(key => key -> conf.getConfString(key)).toMap ++ changed
  }

  /** Gives a text's settings to a session, which then has Spark's default for each that the text has not kept. */
  def restore(settings: Map[String, String], conf: SQLConf): Unit = {
    val stated = conf.getAllConfs.keySet
    entries.flatMap(names).filter(stated).foreach(conf.unsetConf)
    settings.foreach { case (key, value) => conf.setConfString(key, value) }
  }

  /** The keys that a session can set and no text keeps, sorted, as lines. */
  def leftOutKeys(): String = SQLConf.getConfigEntries().asScala.map(_.key)
    .filter(key => isLeftOut(key) && !SQLConf.isStaticConfigKey(key)).toSeq.sorted.mkString("\n")
}
