package org.apache.spark.sql.tablestore

import java.util.Optional

import org.apache.spark.sql.connector.catalog.{Changelog, ChangelogContext, ChangelogRange, Column, Identifier}
import org.apache.spark.sql.connector.catalog.CatalogV2Util.v2ColumnsToStructType
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s._
import org.json4s.JsonDSL._

/** The changes of a managed table between two snapshots, as the planner described them. It is asked for exactly the
  * changes that the query wants, so nothing is left for Spark to work out of them. */
class ManagedChangelog(catalog: JObject, ident: Identifier, definition: JValue) extends Changelog {
  import Json.formats
  private val handle: JObject = catalog ~ Json.ident(ident) ~ ("handle" -> definition \ "handle")

  override val name: String = (definition \ "name").extract[String]
  override val columns: Array[Column] = Json.toColumns(definition \ "columns")
  override def containsCarryoverRows(): Boolean = false
  override def containsIntermediateChanges(): Boolean = false
  override def representsUpdateAsDeleteAndInsert(): Boolean = false
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ManagedScanBuilder(handle, name, v2ColumnsToStructType(columns), options)
}

object ManagedChangelog {

  /** What a query asks for: bounds that are versions or times, and how changes are to be told. */
  def request(context: ChangelogContext): JObject = {
    val (from, to) = context.range match {
      case range: ChangelogRange.VersionRange =>
        (bound("version", Some(JString(range.startingVersion)), range.startingBoundInclusive),
          bound("version", option(range.endingVersion).map(JString(_)), range.endingBoundInclusive))
      case range: ChangelogRange.TimestampRange =>
        (bound("timestamp_us", Some(JLong(range.startingTimestamp)), range.startingBoundInclusive),
          bound("timestamp_us", option(range.endingTimestamp).map(JLong(_)), range.endingBoundInclusive))
      case _ => (JNull, JNull)
    }
    ("from" -> from) ~ ("to" -> to) ~ ("deduplicationMode" -> context.deduplicationMode.value) ~
      ("computeUpdates" -> context.computeUpdates)
  }
  private def option[T](value: Optional[T]): Option[T] = if (value.isPresent) Some(value.get) else None
  private def bound(kind: String, value: Option[JValue], isInclusive: Boolean): JValue =
    value.map(found => (kind -> found) ~ ("inclusive" -> isInclusive): JValue).getOrElse(JNull)
}
