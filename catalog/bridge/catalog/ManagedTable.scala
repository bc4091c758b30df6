package org.apache.spark.sql.tablestore

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.constraints.Constraint
import org.apache.spark.sql.connector.expressions.{FieldReference, NamedReference, Transform}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.{Scan, ScanBuilder}
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.types.{DataType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s._

/** A table at one snapshot, as the planner described it; its handle is sent back with every request. Plans show the
  * barrier for which the snapshot was chosen. */
class ManagedTable(
    relation: Requests.RelationReference, definition: Answers.DescribedTable, barrier: Option[Long] = None)
    extends Table with SupportsRead with SupportsWrite with SupportsRowLevelOperations with SupportsMetadataColumns
    with SupportsSchemaEvolution with NoIndexes {
  val reference: Requests.TableReference = Requests.TableReference(relation, definition.handle)

  /** The same table with the same columns at another version, whatever its columns were called then. */
  def at(version: Option[String], barrier: Option[Long] = None): ManagedTable =
    ManagedTable(relation, definition.at(version), barrier)

  override def name(): String = definition.name
  override def toString: String = s"TableStoreTable ${name()}"
  override def version(): String = definition.version.orNull

  /** The columns with CHAR and VARCHAR as declared; `schema` has them as strings, as Spark reads and writes them. In a
    * column with a struct they stay strings here, too: Spark could not parse its own note of the raw type if a field's
    * name has a blank. */
  override val columns: Array[Column] = V2Columns.of(StructType(
      definition.columns.map(field =>
        if (field.dataType.existsRecursively(_.isInstanceOf[StructType])) field
        else CharVarcharUtils.getRawType(field.metadata).map(raw => field.copy(dataType = raw)).getOrElse(field))))
  private val struct: StructType =
    StructType(CatalogV2Util.v2ColumnsToStructType(columns).zip(definition.columns).map {
      case (column, field) => column.copy(dataType = field.dataType)
    })
  override def schema(): StructType = struct
  def isExternal: Boolean = definition.isExternal
  def isReadBySpark: Boolean = definition.isReadBySpark

  /** Whether jobs follow what Spark reads as a stream. */
  def isStream: Boolean = definition.isStream

  /** The key; without key, the one metadata column that is the whole row. */
  def rowId: Seq[String] = definition.rowId.toSeq
  def computedColumns: Seq[Column] = V2Columns.of(definition.computed).toSeq
  def computedExpressions: Map[String, StoredExpression] = computedColumns.zip(definition.computed).map {
    case (column, field) =>
      column.name -> StoredExpression(
        column.generationExpression,
        StoredExpressions.settingsOf(field).getOrElse(Map.empty))
  }.toMap
  override val partitioning: Array[Transform] = definition.partitions.map(Json.identity).toArray
  override val properties: util.Map[String, String] = definition.properties.asJava
  override val constraints: Array[Constraint] =
    (definition.constraints.map(Json.primaryKey) ++ definition.checks.map(new EnforcedCheck(_))).toArray
  override val capabilities: util.Set[TableCapability] = {
    val set = util.EnumSet.noneOf(classOf[TableCapability])
    definition.capabilities.foreach(name => set.add(TableCapability.valueOf(name)))
    set
  }
  override val metadataColumns: Array[MetadataColumn] = definition.metadataColumns.map { column =>
    new MetadataColumn {
      override def name(): String = column.name
      override def dataType(): DataType = DataType.fromJson(column.`type`)
      override def isNullable: Boolean = column.nullable
    }: MetadataColumn
  }.toArray

  override def supportsColumnChange(change: TableChange.ColumnChange): Boolean =
    PlannerProcess.ask(Requests.CanAlter(reference, Json.change(change)))

  /** DESCRIBE asks even a table that Spark reads elsewhere for a scan, for what is known of its size: that is nothing. */
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    if (isReadBySpark) () => new Scan { override def readSchema(): StructType = schema() }
    else new ManagedScanBuilder(
      reference, name() + barrier.fold("")(number => s" at barrier $number"), schema(), options)
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new ManagedWriteBuilder(reference, name(), info)

  override def newRowLevelOperationBuilder(info: RowLevelOperationInfo): RowLevelOperationBuilder =
    () =>
      new SupportsDelta {
        override def description(): String = s"$command of ${name()}"
        override def command(): RowLevelOperation.Command = info.command
        override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
          ManagedTable.this.newScanBuilder(options)
        override def newWriteBuilder(write: LogicalWriteInfo): DeltaWriteBuilder =
          new ManagedDeltaWriteBuilder(reference, name(), info.command.toString, write)
        override val rowId: Array[NamedReference] =
          definition.rowId.map(FieldReference.column(_): NamedReference).toArray
      }
}

/** A managed table whose partitions can be listed, dropped and truncated. */
class PartitionedManagedTable(
    relation: Requests.RelationReference, definition: Answers.DescribedTable, barrier: Option[Long])
    extends ManagedTable(relation, definition, barrier) with SupportsAtomicPartitionManagement {
  override def partitionSchema(): StructType = StructType(partitioning.map(transform =>
      schema()(transform.references.head.fieldNames.head)))

  private def values(partition: InternalRow, names: Array[String]): Map[String, Option[String]] =
    names.zipWithIndex.map { case (name, i) =>
      val value = if (partition.isNullAt(i)) None else Some(partition.get(i, schema()(name).dataType))
      name -> value.map {
        case bytes: Array[Byte] => bytes.map(byte => f"$byte%02x").mkString
        case other => other.toString
      }
    }.toMap
  private def spec(partition: InternalRow): Map[String, Option[String]] =
    values(partition, partitionSchema().fieldNames)

  override def listPartitionIdentifiers(names: Array[String], partition: InternalRow): Array[InternalRow] =
    Json.rows(PlannerProcess.ask(Requests.ListPartitions(reference, values(partition, names))))
  override def loadPartitionMetadata(partition: InternalRow): util.Map[String, String] =
    PlannerProcess.ask(Requests.LoadPartition(reference, spec(partition))).asJava
  override def dropPartitions(partitions: Array[InternalRow]): Boolean =
    PlannerProcess.ask(Requests.DropPartitions(reference, partitions.toSeq.map(spec)))
  override def truncatePartitions(partitions: Array[InternalRow]): Boolean = dropPartitions(partitions)
  override def truncatePartition(partition: InternalRow): Boolean = truncatePartitions(Array(partition))
  override def createPartitions(partitions: Array[InternalRow], properties: Array[util.Map[String, String]]): Unit =
    throw Errors.partitionsAreData(name())
  override def replacePartitionMetadata(partition: InternalRow, properties: util.Map[String, String]): Unit =
    throw Errors.partitionsAreData(name())
}

/** A table that nobody sees before `commitStagedChanges`: CTAS, REPLACE TABLE, RTAS. */
class StagedManagedTable(relation: Requests.RelationReference, definition: Answers.DescribedTable)
    extends ManagedTable(relation, definition) with StagedTable {
  override def commitStagedChanges(): Unit = {
    PlannerProcess.ask(Requests.CommitStaged(reference))
    SessionCatalogMirror.follow(relation.catalog, relation.identifier)
  }
  override def abortStagedChanges(): Unit = PlannerProcess.ask(Requests.AbortStaged(reference))
}

object ManagedTable {
  def apply(relation: Requests.RelationReference, definition: Answers.DescribedTable,
      barrier: Option[Long] = None): ManagedTable =
    if (definition.partitions.isEmpty) new ManagedTable(relation, definition, barrier) with Truncated
    else new PartitionedManagedTable(relation, definition, barrier) with Truncated
}

/** TRUNCATE, and those DELETEs that the planner can do by dropping whole partitions. */
trait Truncated extends SupportsDeleteV2 { self: ManagedTable =>
  private def expressions(where: Array[Predicate]): Seq[JValue] = where.toSeq.map(Json.expression)
  override def canDeleteWhere(where: Array[Predicate]): Boolean =
    PlannerProcess.ask(Requests.CanDeleteWhere(reference, expressions(where)))
  override def deleteWhere(where: Array[Predicate]): Unit =
    PlannerProcess.ask(Requests.DeleteWhere(reference, expressions(where)))
  override def truncateTable(): Boolean = {
    if (!PipelineWrites.awaitsRows(reference)) deleteWhere(Array.empty)
    true
  }
}
