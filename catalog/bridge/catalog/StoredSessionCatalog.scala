package org.apache.spark.sql.tablestore

import java.util.Locale

import scala.annotation.tailrec

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.SparkConf
import org.apache.spark.sql.catalyst.{FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.analysis.{NoSuchFunctionException, NoSuchTableException}
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.catalyst.catalog.CatalogTypes.TablePartitionSpec
import org.apache.spark.sql.catalyst.util.StringUtils
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.CatalogManager
import org.apache.spark.sql.types.StructType

/** Spark's session catalog below a catalog of ours that stands in place of `spark_catalog`. Spark's commands on tables
  * `USING parquet`, …, and on persistent functions work on it as ever. It keeps in memory what was loaded of tables,
  * and storage is the truth: a table's entry is made anew when the loaded definition differs, and a command's change
  * is stored at once, against the definition that it was made from; if that was replaced meanwhile, the change is
  * made again on the newer one. */
class StoredSessionCatalog(conf: SparkConf, hadoop: Configuration) extends InMemoryCatalog(conf, hadoop) {
  private type Name = (String, String)

  /** The definition of each table that was loaded, as its entry shows it. */
  private val loaded = scala.collection.mutable.Map[Name, ForeignDefinition]()

  private def catalog: Option[Requests.CatalogReference] = StoredSessionCatalog.catalog
  private def key(name: String): String = name.toLowerCase(Locale.ROOT)

  // Databases: those of storage

  override def databaseExists(database: String): Boolean = super.databaseExists(database) || catalog.exists { found =>
    val exists =
      try { PlannerProcess.ask(Requests.LoadNamespace(found, Seq(database))); true }
      catch { case error: TableStoreException if error.is("NAMESPACE_NOT_FOUND") => false }
    if (exists) ensure(key(database))
    exists
  }
  private def ensure(database: String): Unit =
    if (!super.databaseExists(database)) super.createDatabase(SessionCatalogMirror.database(database),
      ignoreIfExists = true)

  // Tables

  /** The entry of a table whose definition was loaded from storage. */
  def entry(database: String, name: String, definition: ForeignDefinition): CatalogTable = synchronized {
    val place = (key(database), key(name))
    val isKnown = loaded.get(place).contains(definition) && tableExists(place._1, place._2)
    if (!isKnown || SessionEntry.isFollowing(definition)) {
      val (table, partitions) = SessionEntry.read(TableIdentifier(place._2, Some(place._1)), definition)
      ensure(place._1)
      forget(place._1, place._2)
      super.createTable(table, ignoreIfExists = false)
      if (partitions.nonEmpty) super.createPartitions(place._1, place._2, partitions, ignoreIfExists = true)
      loaded(place) = definition
    }
    getTable(place._1, place._2)
  }

  /** Removes the entry of a table; its files are not touched. */
  def forget(database: String, name: String): Unit = synchronized {
    val place = (key(database), key(name))
    loaded.remove(place)
    if (super.databaseExists(place._1) && tableExists(place._1, place._2)) {
      // The folder of an external table stays.
      super.alterTable(getTable(place._1, place._2).copy(tableType = CatalogTableType.EXTERNAL))
      super.dropTable(place._1, place._2, ignoreIfNotExists = true, purge = false)
    }
  }

  /** Makes a change of the entry, and stores what has become of it. */
  private def changed(database: String, name: String)(change: => Unit): Unit = synchronized {
    val place = (key(database), key(name))
    catalog.filter(_ => loaded.contains(place)) match {
      case Some(found) => store(Requests.RelationReference(found, Seq(database), name), place)(change)
      case None => change
    }
  }

  @tailrec private def store(relation: Requests.RelationReference, place: Name)(change: => Unit): Unit = {
    val before = PlannerProcess.ask(Requests.LoadTable(relation)) match {
      case other: Answers.ForeignDefinition => ForeignDefinition(other)
      case _ => throw new NoSuchTableException(place._1, place._2)
    }
    entry(place._1, place._2, before)
    try change
    catch { case error: Throwable => loaded.remove(place); throw error }
    val after =
      SessionEntry.written(before, getTable(place._1, place._2), super.listPartitions(place._1, place._2, None))
    if (after != before) {
      val isStored = PlannerProcess.ask(Requests.ReplaceForeign(relation, after.declared, before.declared))
      if (isStored) loaded(place) = after
      else {
        loaded.remove(place)
        store(relation, place)(change)
      }
    }
  }

  override def alterTable(table: CatalogTable): Unit =
    changed(table.database, table.identifier.table)(super.alterTable(table))
  override def alterTableDataSchema(database: String, table: String, schema: StructType): Unit =
    changed(database, table)(super.alterTableDataSchema(database, table, schema))
  override def alterTableSchema(database: String, table: String, schema: StructType): Unit =
    changed(database, table)(super.alterTableSchema(database, table, schema))
  override def alterTableStats(database: String, table: String, statistics: Option[CatalogStatistics]): Unit =
    changed(database, table)(super.alterTableStats(database, table, statistics))

  override def createPartitions(
      database: String, table: String, parts: Seq[CatalogTablePartition], ignoreIfExists: Boolean): Unit =
    changed(database, table)(super.createPartitions(database, table, parts, ignoreIfExists))

  /** Deletes files below the table's own folder only: a partition may have been given the folder of something else. */
  override def dropPartitions(database: String, table: String, specs: Seq[TablePartitionSpec],
      ignoreIfNotExists: Boolean, purge: Boolean, retainData: Boolean): Unit = changed(database, table) {
    val (own, others) = specs.partition(spec => isOwn(database, table, spec))
    if (own.nonEmpty) super.dropPartitions(database, table, own, ignoreIfNotExists, purge, retainData)
    if (others.nonEmpty) super.dropPartitions(database, table, others, ignoreIfNotExists, purge, retainData = true)
  }
  private def isOwn(database: String, table: String, spec: TablePartitionSpec): Boolean =
    super.getPartitionOption(database, table, spec).forall { partition =>
      val folder = new Path(getTable(database, table).location).toUri.getPath
      new Path(partition.location).toUri.getPath.startsWith(folder + Path.SEPARATOR)
    }
  override def renamePartitions(
      database: String, table: String, from: Seq[TablePartitionSpec], to: Seq[TablePartitionSpec]): Unit =
    changed(database, table)(super.renamePartitions(database, table, from, to))
  override def alterPartitions(database: String, table: String, parts: Seq[CatalogTablePartition]): Unit =
    changed(database, table)(super.alterPartitions(database, table, parts))

  // Functions, of which nothing is kept in memory

  private def ask[A](database: String, name: String)(
      request: Requests.RelationReference => Requests.Request[A]): Option[A] =
    catalog.map(found => PlannerProcess.ask(request(Requests.RelationReference(found, Seq(database), name))))

  private def define(database: String, function: CatalogFunction, isNew: Boolean): Boolean = {
    val resources = function.resources.map(resource =>
      Requests.FunctionResource(resource.resourceType.resourceType, resource.uri))
    ask(database, function.identifier.funcName)(
      Requests.DefineFunction(_, Requests.FunctionDefinition(function.className, resources), isNew)).nonEmpty
  }
  override def createFunction(database: String, function: CatalogFunction): Unit =
    if (!define(database, function, isNew = true)) super.createFunction(database, function)
  override def alterFunction(database: String, function: CatalogFunction): Unit =
    if (!define(database, function, isNew = false)) super.alterFunction(database, function)
  override def dropFunction(database: String, name: String): Unit =
    if (ask(database, name)(Requests.DropFunction(_)).isEmpty) super.dropFunction(database, name)
  override def getFunction(database: String, name: String): CatalogFunction =
    ask(database, name)(Requests.LoadFunction(_)) match {
      case None => super.getFunction(database, name)
      case Some(found) => found.map { definition =>
          CatalogFunction(
            FunctionIdentifier(key(name), Some(key(database))),
            definition.className,
            definition.resources.map(resource =>
              FunctionResource(FunctionResourceType.fromString(resource.kind), resource.uri))
          )
        }.getOrElse(throw new NoSuchFunctionException(database, name))
    }
  override def functionExists(database: String, name: String): Boolean =
    ask(database, name)(Requests.LoadFunction(_)).map(_.nonEmpty).getOrElse(super.functionExists(database, name))
  override def listFunctions(database: String, pattern: String): Seq[String] = catalog match {
    case Some(found) => StringUtils.filterPattern(
        PlannerProcess.ask(Requests.ListFunctions(found, Seq(database))).map(key), pattern)
    case None => super.listFunctions(database, pattern)
  }
}

object StoredSessionCatalog {

  /** The session's catalog of ours, if it stands in place of `spark_catalog`. */
  private def catalog: Option[Requests.CatalogReference] =
    SparkSession.active.sessionState.catalogManager.v2SessionCatalog match {
      case ours: TableStoreCatalog => Some(ours.reference)
      case _ => None
    }

  /** The process's session catalog, if it is one of these. With a Hive metastore it is that. */
  def of(session: SparkSession): Option[StoredSessionCatalog] = session.sharedState.externalCatalog.unwrapped match {
    case stored: StoredSessionCatalog => Some(stored)
    case _ => None
  }

  /** Puts one in place of Spark's own in-memory catalog, with the databases and tables of that. Spark 4.2 knows two
    * classes of external catalogs by name and has no setting for a third, hence the field is set. */
  def install(session: SparkSession): Unit = synchronized {
    val external = session.sharedState.externalCatalog
    if (external.unwrapped.getClass == classOf[InMemoryCatalog]) {
      val old = external.unwrapped
      val stored =
        new StoredSessionCatalog(session.sparkContext.conf, session.sparkContext.hadoopConfiguration)
      for (database <- old.listDatabases()) {
        stored.createDatabase(old.getDatabase(database), ignoreIfExists = true)
        old.listTables(database).foreach(name =>
          stored.createTable(old.getTable(database, name), ignoreIfExists = true))
      }
      val field = external.getClass.getDeclaredField("delegate")
      field.setAccessible(true)
      field.set(external, stored)
    }
  }

  /** Whether a catalog stands in place of `spark_catalog`, above one of these. */
  def isBelow(catalogName: String, session: SparkSession): Boolean =
    catalogName == CatalogManager.SESSION_CATALOG_NAME && of(session).nonEmpty
}
