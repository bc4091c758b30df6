package org.apache.spark.sql.tablestore

import java.util.Locale

import scala.util.control.NonFatal

import org.apache.spark.internal.Logging
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.types.{StringType, StructType, TimeType, VariantType}
import org.apache.spark.util.Utils

/** Mirrors the tables and views of the default catalog as entries of the v1 session catalog. They serve JDBC metadata
  * only, which Spark 4.2 reads there (SparkGetTablesOperation, SparkGetColumnsOperation). Storage stays authoritative.
  * The entries exist only in an in-memory catalog: a Hive metastore would persist them and show them to others. */
object SessionCatalogMirror extends Logging {
  private val marker = "table-store.mirror"

  /** The catalog that is mirrored; None until a session of this process began with `USE`. */
  @volatile private var mirrored: Option[String] = None
  // Not a folder of the warehouse, because the in-memory catalog deletes the folder of a database that it drops.
  private lazy val folder = Utils.createTempDir(namePrefix = "table-store-mirror").toURI

  /** Whether this process is a Thrift server. Other processes never need JDBC metadata, and there an entry would
    * hide the current namespace's table from `spark.catalog.getTable("t")`. */
  def isAskedFor: Boolean =
    try {
      val server = Utils.classForName[AnyRef]("org.apache.spark.sql.hive.thriftserver.HiveThriftServer2$").getField(
        "MODULE$").get(null)
      server.getClass.getMethod("listener").invoke(server) != null
    } catch { case _: ReflectiveOperationException | _: LinkageError => false }

  private def inMemory: Option[InMemoryCatalog] =
    SparkSession.active.sharedState.externalCatalog.unwrapped match {
      case catalog: InMemoryCatalog => Some(catalog)
      case _ => None
    }
  private def quietly(change: InMemoryCatalog => Unit): Unit =
    try inMemory.foreach(catalog => synchronized(change(catalog)))
    catch { case NonFatal(error) => logWarning("JDBC metadata could not be refreshed", error) }
  private def key(name: String): String = name.toLowerCase(Locale.ROOT)

  /** Follows what has changed in the default catalog since the last call. It is asked for within the lock, so that no
    * older answer comes later. */
  def refresh(): Unit = quietly { catalog =>
    keepDerbyQuiet()
    val asked = Requests.MirrorCatalog(isShown = mirrored.nonEmpty)
    mirrored = None // what fails now is made good by all entries next time
    PlannerProcess.ask(asked).foreach { found =>
      val namespaces = found.namespaces.map(n => key(n.name) -> n).toMap
      for (database <- catalog.listDatabases() if !namespaces.contains(database) && isOurs(catalog, database)) {
        catalog.dropDatabase(database, ignoreIfNotExists = true, cascade = true)
      }
      for ((database, namespace) <- namespaces) {
        ensure(catalog, database)
        val changed = namespace.relations.map(entry(database, _))
        val gone = if (found.isWhole) catalog.listTables(database).toSet -- changed.map(_.identifier.table)
        else namespace.gone.map(key)
        gone.foreach(remove(catalog, database, _))
        changed.foreach(table => put(catalog, database, table.identifier.table, table))
      }
      mirrored = Some(found.catalog)
    }
  }

  /** Updates the entries of names that were just changed through `catalog`. */
  def follow(catalog: Requests.CatalogReference, names: Identifier*): Unit =
    if (mirrored.contains(catalog.name)) {
      for (ident <- names if ident.namespace.length == 1) {
        val found =
          try PlannerProcess.ask(
              Requests.MirrorEntry(Requests.RelationReference(catalog, ident.namespace.toSeq, ident.name)))
          catch { case NonFatal(_) => None }
        quietly { external =>
          val (database, name) = (key(ident.namespace.head), key(ident.name))
          found match {
            case None => if (external.databaseExists(database)) remove(external, database, name)
            case Some(relation) =>
              ensure(external, database)
              put(external, database, name, entry(database, relation))
          }
        }
      }
    }

  /** Updates the entry of a namespace that was just created or dropped. */
  def followNamespace(catalog: Requests.CatalogReference, namespace: Array[String], exists: Boolean): Unit =
    if (namespace.length == 1 && mirrored.contains(catalog.name)) quietly { external =>
      val database = key(namespace.head)
      if (exists) ensure(external, database)
      else if (isOurs(external, database)) external.dropDatabase(database, ignoreIfNotExists = true, cascade = true)
    }

  /** Hive's own metadata calls start an in-memory Derby, which would write its derby.log into the current folder. */
  private def keepDerbyQuiet(): Unit =
    if (System.getProperty(derbyLog) == null)
      System.setProperty(derbyLog, new java.io.File(folder.getPath, "derby.log").getPath)
  private val derbyLog = "derby.stream.error.file"

  private def isOurs(catalog: InMemoryCatalog, database: String): Boolean =
    catalog.databaseExists(database) && catalog.getDatabase(database).properties.contains(marker)

  private def ensure(catalog: InMemoryCatalog, name: String): Unit =
    if (!catalog.databaseExists(name)) catalog.createDatabase(database(name), ignoreIfExists = true)

  /** The database that stands for a namespace in the session catalog. */
  def database(name: String): CatalogDatabase = CatalogDatabase(name, "", folder, Map(marker -> "true"))

  private def remove(catalog: InMemoryCatalog, database: String, name: String): Unit =
    if (catalog.tableExists(database, name) && catalog.getTable(database, name).properties.contains(marker)) {
      catalog.dropTable(database, name, ignoreIfNotExists = true, purge = false)
    }

  private def put(catalog: InMemoryCatalog, database: String, name: String, table: CatalogTable): Unit = {
    remove(catalog, database, name)
    catalog.createTable(table, ignoreIfExists = true)
  }

  /** Columns of types of which Spark's JDBC metadata knows no SQL type, and fails for all columns, are shown as text. */
  private def shown(columns: StructType): StructType = StructType(columns.map { column =>
    column.dataType match {
      case VariantType | _: TimeType => column.copy(dataType = StringType)
      case _ => column
    }
  })

  private def entry(database: String, relation: Answers.MirroredRelation): CatalogTable =
    CatalogTable(
      TableIdentifier(key(relation.name), Some(database)),
      if (relation.isView) CatalogTableType.VIEW else CatalogTableType.EXTERNAL,
      CatalogStorageFormat.empty.copy(locationUri = if (relation.isView) None else Some(folder)),
      shown(relation.columns),
      provider = if (relation.isView) None else Some("tablestore"),
      comment = relation.comment,
      properties = Map(marker -> "true")
    )
}
