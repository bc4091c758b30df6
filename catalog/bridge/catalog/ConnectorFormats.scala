package org.apache.spark.sql.tablestore

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{classic, DataFrame, SaveMode, SQLContext}
import org.apache.spark.sql.connector.catalog.{Table, TableProvider}
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.connector.read.ScanBuilder
import org.apache.spark.sql.sources.{BaseRelation, CreatableRelationProvider, DataSourceRegister}
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** A connector as a format: `spark.read.format("mysql-cdc")` reads what a temporary table with the connector and the
  * same options does, and nobody has to create that. Spark makes one of these for each read. */
abstract class ConnectorFormat(connector: String)
    extends TableProvider with DataSourceRegister with CreatableRelationProvider {
  private var known: Option[ManagedTable] = None

  override def shortName(): String = connector
  override def supportsExternalMetadata(): Boolean = true

  /** The columns that the connector finds. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType = {
    val found = table(options.asCaseSensitiveMap, None)
    known = Some(found)
    found.schema()
  }
  override def getTable(schema: StructType, partitions: Array[Transform], options: util.Map[String, String]): Table =
    known.filter(_.schema() == schema).getOrElse(table(options, Some(schema)))

  /** Spark asks for this where a table takes no rows. */
  override def createRelation(
      session: SQLContext, mode: SaveMode, options: Map[String, String], rows: DataFrame): BaseRelation =
    throw Errors.onlyRead(connector)

  private def table(options: util.Map[String, String], schema: Option[StructType]): ManagedTable = {
    val session = classic.SparkSession.active
    SessionEnds.follow(session)
    val catalogs = session.sessionState.catalogManager
    val catalog = Seq(catalogs.currentCatalog.name, "spark_catalog", "table_store")
      .filter(catalogs.isCatalogRegistered)
      .map(catalogs.catalog)
      .collectFirst { case ours: TableStoreCatalog => ours.reference }
      .getOrElse(throw Errors.noCatalogFor(connector))
    val read = Requests.ReadConnector(catalog, connector, options.asScala.toMap, schema.map(_.json))
    val described = PlannerProcess.ask(read)
    new FormatTable(Requests.RelationReference(catalog, Nil, connector), described)
  }
}

object ConnectorFormat {
  private val names =
    Seq(new DatagenFormat, new FilesystemFormat, new MysqlFormat, new PostgresFormat, new UpsertKafkaFormat)
      .map(_.shortName())

  /** Refuses CREATE TABLE … USING a connector. */
  def refuse(provider: String): Unit =
    names.find(_.equalsIgnoreCase(provider)).foreach(name => throw Errors.connectorAsProvider(name))
}

/** What such a read stands for: the options made the table, and are none of a scan. */
class FormatTable(relation: Requests.RelationReference, definition: Answers.DescribedTable)
    extends ManagedTable(relation, definition) {
  override def newScanBuilder(options: CaseInsensitiveStringMap): ScanBuilder =
    super.newScanBuilder(CaseInsensitiveStringMap.empty())
}

class DatagenFormat extends ConnectorFormat("datagen")
class FilesystemFormat extends ConnectorFormat("filesystem")
class MysqlFormat extends ConnectorFormat("mysql-cdc")
class PostgresFormat extends ConnectorFormat("postgres-cdc")
class UpsertKafkaFormat extends ConnectorFormat("upsert-kafka")
