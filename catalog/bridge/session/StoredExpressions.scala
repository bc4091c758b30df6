package org.apache.spark.sql.tablestore

import java.time.ZoneOffset

import scala.jdk.CollectionConverters._
import scala.util.Try

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.analysis.UnresolvedStar
import org.apache.spark.sql.catalyst.expressions.{Alias, CurrentTimeZone, Expression, Literal}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project}
import org.apache.spark.sql.catalyst.util.DateTimeUtils
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{MetadataBuilder, StructField}
import org.json4s._
import org.json4s.jackson.JsonMethods.compact

/** An expression of a table's definition, with the settings under which it was declared. A setting that is absent has
  * Spark's default, and the time zone is UTC. */
case class StoredExpression(text: String, settings: Map[String, String]) {

  /** Runs the body under these settings, which Spark's parser and analyzer bind to the expressions that they make. */
  def under[T](session: SQLConf)(body: => T): T = {
    val declared = new SQLConf
    declared.setConfString(SQLConf.SESSION_LOCAL_TIMEZONE.key, StoredExpressions.defaultZone)
    val catalogs = session.getAllConfs.filter(StoredExpressions.isOfCatalogs)
    (catalogs ++ settings).foreach { case (key, value) => declared.setConfString(key, value) }
    SQLConf.withExistingConf(declared)(body)
  }

  /** The expression as the parser reads it. */
  def parsed(session: classic.SparkSession): Expression =
    under(session.sessionState.conf)(session.sessionState.sqlParser.parseExpression(text))

  /** A plan with this expression in its topmost node, analysed. */
  def analysed(session: classic.SparkSession, plan: LogicalPlan): LogicalPlan = under(session.sessionState.conf) {
    session.sessionState.executePlan(plan).analyzed.transformExpressions {
      case CurrentTimeZone() => Literal(SQLConf.get.sessionLocalTimeZone)
    }
  }
}

/** Stores and evaluates the expressions of tables' definitions: defaults, computed columns and constraints. */
object StoredExpressions {
  val defaultZone = "UTC"
  private val settingsKey = SharedText.name("settings-of-expression")

  /** How the keys of settings begin that matter to queries on tables, files and views: an expression reads none. */
  private val ofRelations = Seq(
    "spark.databricks.",
    "spark.sql.avro.",
    "spark.sql.cache",
    "spark.sql.crossJoin.",
    "spark.sql.files.",
    "spark.sql.hive.",
    "spark.sql.join.",
    "spark.sql.optimizer.",
    "spark.sql.orc.",
    "spark.sql.parquet.",
    "spark.sql.sources.",
    "spark.sql.view."
  )
  private[tablestore] def isOfCatalogs(setting: (String, String)): Boolean =
    setting._1.startsWith("spark.sql.catalog.") || setting._1 == SQLConf.DEFAULT_CATALOG.key

  /** Whether a zone is UTC by any of its names, such as Etc/UTC. */
  private def isUtc(zone: String): Boolean =
    Try(DateTimeUtils.getZoneId(zone).normalized).toOption.contains(ZoneOffset.UTC)

  /** The settings that give a user's expressions their meaning, without those that have Spark's default, as JSON. */
  def settings(user: classic.SparkSession): String = {
    val defaults = new SQLConf
    defaults.setConfString(SQLConf.SESSION_LOCAL_TIMEZONE.key, defaultZone)
    val told = KeptSettings.of(user.sessionState.conf).filterNot { case (key, value) =>
      ofRelations.exists(key.startsWith) || Try(defaults.getConfString(key)).toOption.contains(value) ||
      key == SQLConf.SESSION_LOCAL_TIMEZONE.key && isUtc(value)
    }
    compact(JObject(told.toList.sorted.map { case (key, value) => key -> JString(value) }))
  }

  /** The expressions of a JSON list. */
  def read(json: String): Seq[StoredExpression] = Json.parse(json) match {
    case JArray(items) => items.map(item =>
        StoredExpression((item \ "text").asInstanceOf[JString].s, settingsOf(item \ "settings")))
    case _ => Nil
  }

  /** The settings of the default, or of the computed column, that the planner describes by a column; None for columns
    * of tables that are not managed. */
  def settingsOf(column: StructField): Option[Map[String, String]] =
    if (column.metadata.contains(settingsKey)) Some(settingsOf(Json.parse(column.metadata.getString(settingsKey))))
    else None

  /** The column without a note for the bridge. */
  def withoutSettings(column: StructField): StructField =
    if (!column.metadata.contains(settingsKey)) column
    else column.copy(metadata = new MetadataBuilder().withMetadata(column.metadata).remove(settingsKey).build())

  private def settingsOf(json: JValue): Map[String, String] = json match {
    case JObject(members) => members.collect { case (key, JString(value)) => key -> value }.toMap
    case _ => Map.empty
  }

  /** A frame with further columns, the values of expressions, as a JSON list, on its rows. */
  def withColumns(
      frame: classic.DataFrame, names: java.util.List[String], expressions: String): classic.DataFrame = {
    val session = frame.sparkSession
    val columns = names.asScala.toSeq.zip(read(expressions))
    val plan = bySettings(columns)(_._2.settings).foldLeft(frame.queryExecution.analyzed) { (rows, group) =>
      val values = group.map { case (name, expression) => Alias(expression.parsed(session), name)() }
      group.head._2.analysed(session, Project(UnresolvedStar(None) +: values, rows))
    }
    classic.Dataset.ofRows(session, plan)
  }

  /** Items in groups with equal settings, in the order of the first item of each. */
  def bySettings[T](items: Seq[T])(settings: T => Map[String, String]): Seq[Seq[T]] =
    items.map(settings).distinct.map(one => items.filter(settings(_) == one))
}
