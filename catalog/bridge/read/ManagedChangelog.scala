package org.apache.spark.sql.tablestore

import java.util
import java.util.Optional

import org.apache.spark.sql.connector.catalog.{
  Changelog,
  ChangelogContext,
  ChangelogRange,
  Column,
  SupportsRead,
  Table,
  TableCapability
}
import org.apache.spark.sql.connector.catalog.CatalogV2Util.v2ColumnsToStructType
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The changes of a managed table between two snapshots, as the planner described them. The planner gives exactly the
  * changes that the query asks for, so Spark has nothing to derive from them. */
class ManagedChangelog(relation: Requests.RelationReference, definition: Answers.Changelog) extends Changelog {
  private val reference = Requests.TableReference(relation, definition.handle)

  override val name: String = definition.name
  override val columns: Array[Column] = V2Columns.of(definition.columns)
  override def containsCarryoverRows(): Boolean = false
  override def containsIntermediateChanges(): Boolean = false
  override def representsUpdateAsDeleteAndInsert(): Boolean = false
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    new ManagedScanBuilder(reference, name, v2ColumnsToStructType(columns), options)
}

/** Changes as a table, for queries that nobody has written in SQL. */
case class ChangesTable(changes: ManagedChangelog) extends Table with SupportsRead {
  override def name(): String = changes.name
  override def columns(): Array[Column] = changes.columns
  override def capabilities(): util.Set[TableCapability] = util.Set.of(TableCapability.BATCH_READ)
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder = changes.newScanBuilder(options)
}

object ManagedChangelog {

  /** The request for a query's changes: bounds that are versions or times, and the form of the changes. */
  def request(relation: Requests.RelationReference, context: ChangelogContext): Requests.LoadChangelog = {
    val (start, end) = context.range match {
      case range: ChangelogRange.VersionRange => (
          Some(Requests.StatedBound(
              version = Some(range.startingVersion), isInclusive = range.startingBoundInclusive)),
          option(range.endingVersion).map(version =>
            Requests.StatedBound(version = Some(version), isInclusive = range.endingBoundInclusive)))
      case range: ChangelogRange.TimestampRange => (
          Some(Requests.StatedBound(
              timestampUs = Some(range.startingTimestamp), isInclusive = range.startingBoundInclusive)),
          option(range.endingTimestamp).map(micros =>
            Requests.StatedBound(timestampUs = Some(micros), isInclusive = range.endingBoundInclusive)))
      case _ => (None, None)
    }
    Requests.LoadChangelog(relation, start, end, context.deduplicationMode.value, context.computeUpdates)
  }
  private def option[T](value: Optional[T]): Option[T] = if (value.isPresent) Some(value.get) else None
}
