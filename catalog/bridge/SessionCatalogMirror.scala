package org.apache.spark.sql.tablestore

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog.{CatalogDatabase, CatalogStorageFormat, CatalogTable, CatalogTableType, CatalogUtils}
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.json4s._

/** Entries of the v1 session catalog for managed tables, for JDBC metadata alone: Spark 4.2 answers it from there
  * (SparkGetTablesOperation, SparkGetColumnsOperation). Storage stays the truth. */
object SessionCatalogMirror extends Logging {
  import Json.formats
  private val marker = "table-store.mirror"

  /** Make the entries equal to `relations`: (namespace, location, [(name, location, columns)]). */
  def refresh(namespaces: JValue): Unit = try {
    val external = SparkSession.active.sharedState.externalCatalog
    for (namespace <- namespaces.children) {
      val database = (namespace \ "name").extract[String]
      if (!external.databaseExists(database)) {
        external.createDatabase(CatalogDatabase(database, "", CatalogUtils.stringToURI(
          (namespace \ "location").extract[String]), Map(marker -> "true")), ignoreIfExists = true)
      }
      val wanted = (namespace \ "tables").children.map(entry(database, _)).map(t => t.identifier.table -> t).toMap
      val there = external.listTables(database).map(external.getTable(database, _))
        .filter(_.properties.contains(marker)).map(t => t.identifier.table -> t).toMap
      (there.keySet -- wanted.keySet).foreach(external.dropTable(database, _, ignoreIfNotExists = true, purge = false))
      for ((name, table) <- wanted if !there.get(name).exists(_.schema == table.schema)) {
        if (there.contains(name)) external.dropTable(database, name, ignoreIfNotExists = true, purge = false)
        external.createTable(table, ignoreIfExists = true)
      }
    }
  } catch { case NonFatal(error) => logWarning("JDBC metadata of managed tables could not be refreshed", error) }

  private def entry(database: String, table: JValue): CatalogTable = CatalogTable(
    TableIdentifier((table \ "name").extract[String], Some(database)), CatalogTableType.EXTERNAL,
    CatalogStorageFormat.empty.copy(locationUri = Some(CatalogUtils.stringToURI((table \ "location").extract[String]))),
    Json.struct(table \ "columns"), provider = Some("tablestore"),
    comment = (table \ "comment").extractOpt[String], properties = Map(marker -> "true"))
}
