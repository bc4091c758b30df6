package org.apache.spark.sql.tablestore

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogStorageFormat, CatalogTable, CatalogTableType, CatalogUtils}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.CatalogManager.SESSION_CATALOG_NAME
import org.apache.spark.sql.execution.datasources.DataSource
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.Utils
import org.json4s._
import org.json4s.JsonDSL._

/** Tables `USING delta`, `parquet`, …: Spark's session catalog (Delta's, where it is there) has them; the planner only
  * remembers their definition, so that the next session finds them too. */
class ForeignTables(catalogName: String) {
  import Json.formats

  private lazy val delegate: TableCatalog = {
    val manager = SparkSession.active.sessionState.catalogManager
    if (catalogName != SESSION_CATALOG_NAME) manager.catalog(SESSION_CATALOG_NAME).asInstanceOf[TableCatalog]
    else {
      val builtIn = new V2SessionCatalog(SparkSession.active.sessionState.catalog)
      builtIn.initialize(catalogName, CaseInsensitiveStringMap.empty())
      val delta = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
      if (!Utils.classIsLoadable(delta)) builtIn
      else {
        val extension = Utils.classForName[CatalogExtension](delta).getConstructor().newInstance()
        extension.setDelegateCatalog(builtIn)
        extension.initialize(catalogName, CaseInsensitiveStringMap.empty())
        extension
      }
    }
  }

  def create(ident: Identifier, info: TableInfo): JObject = {
    prepareNamespace(ident)
    record(delegate.createTable(ident, info))
  }

  def stageCreate(ident: Identifier, info: TableInfo): StagedTable = {
    prepareNamespace(ident)
    delegate match {
      case staging: StagingTableCatalog => staging.stageCreate(ident, info)
      case plain =>
        val created = plain.createTable(ident, info)
        new BestEffortStagedTable(scannable(created).asInstanceOf[Table with SupportsWrite], () => plain.dropTable(ident))
    }
  }

  /** The definition as the planner keeps it. */
  def record(table: Table): JObject =
    ("columns" -> Json.columns(table.columns)) ~ ("partitions" -> Json.transforms(table.partitioning)) ~
      ("properties" -> Json.strings(table.properties))

  def loadCreated(ident: Identifier): Table = delegate.loadTable(ident)

  /** The table, entered again into the session catalog where another process made it. */
  def load(ident: Identifier, definition: JValue): Table = {
    val sessionCatalog = SparkSession.active.sessionState.catalog
    val name = TableIdentifier(ident.name, ident.namespace.lastOption)
    if (!sessionCatalog.tableExists(name)) {
      prepareNamespace(ident)
      val properties = Json.toStrings(definition \ "properties").asScala.toMap
      val location = properties.get(TableCatalog.PROP_LOCATION).map(CatalogUtils.stringToURI)
      sessionCatalog.createTable(CatalogTable(name, CatalogTableType.EXTERNAL,
        CatalogStorageFormat.empty.copy(locationUri = location), Json.struct(definition \ "columns"),
        properties.get(TableCatalog.PROP_PROVIDER),
        (definition \ "partitions" \ "columns").extract[Seq[Seq[Seq[String]]]].map(_.head.head)),
        ignoreIfExists = true, validateLocation = false)
    }
    scannable(delegate.loadTable(ident))
  }

  /** A table of the v1 session catalog is scannable there only; elsewhere its source's v2 table is. */
  private def scannable(table: Table): Table = table match {
    case v1: V1Table if catalogName != SESSION_CATALOG_NAME =>
      val source = DataSource.lookupDataSource(v1.v1Table.provider.get, SparkSession.active.sessionState.conf)
      source.getConstructor().newInstance() match {
        case provider: TableProvider =>
          val options = v1.v1Table.storage.properties + ("path" -> v1.v1Table.location.toString)
          provider.getTable(v1.v1Table.schema, v1.partitioning, options.asJava)
        case _ => table
      }
    case other => other
  }

  def alter(ident: Identifier, changes: Seq[TableChange]): JObject = record(delegate.alterTable(ident, changes: _*))
  def drop(ident: Identifier): Boolean = delegate.dropTable(ident)

  private def prepareNamespace(ident: Identifier): Unit = delegate match {
    case namespaces: SupportsNamespaces if !namespaces.namespaceExists(ident.namespace) =>
      namespaces.createNamespace(ident.namespace, util.Map.of())
    case _ => ()
  }
}

/** A staged foreign table that the planner hears of when it is there. */
private class RecordedStagedTable(table: StagedTable, recorded: () => Unit) extends StagedTable with SupportsWrite {
  override def name(): String = table.name
  override def columns(): Array[Column] = table.columns
  override def partitioning(): Array[org.apache.spark.sql.connector.expressions.Transform] = table.partitioning
  override def properties(): util.Map[String, String] = table.properties
  override def capabilities(): util.Set[TableCapability] = table.capabilities
  override def newWriteBuilder(info: org.apache.spark.sql.connector.write.LogicalWriteInfo) =
    table.asInstanceOf[SupportsWrite].newWriteBuilder(info)
  override def commitStagedChanges(): Unit = { table.commitStagedChanges(); recorded() }
  override def abortStagedChanges(): Unit = table.abortStagedChanges()
}

/** For sources that can't stage: there at once, dropped again if the statement fails. */
private class BestEffortStagedTable(table: Table with SupportsWrite, drop: () => Unit)
    extends StagedTable with SupportsWrite {
  override def name(): String = table.name
  override def columns(): Array[Column] = table.columns
  override def capabilities(): util.Set[TableCapability] = table.capabilities
  override def newWriteBuilder(info: org.apache.spark.sql.connector.write.LogicalWriteInfo) = table.newWriteBuilder(info)
  override def commitStagedChanges(): Unit = ()
  override def abortStagedChanges(): Unit = drop()
}
