package org.apache.spark.sql.tablestore

import java.util
import java.util.Locale

import scala.annotation.tailrec
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.{DataFrame, Row, SaveMode}
import org.apache.spark.sql.catalyst.{QualifiedTableName, TableIdentifier}
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.classic.{Dataset, SparkSession}
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.CatalogManager.SESSION_CATALOG_NAME
import org.apache.spark.sql.connector.catalog.CatalogV2Util.{
  applyPropertiesChanges,
  applySchemaChanges,
  v2ColumnsToStructType
}
import org.apache.spark.sql.connector.expressions.{BucketTransform, Transform}
import org.apache.spark.sql.connector.write.{LogicalWriteInfo, SupportsTruncate, V1Write, Write, WriteBuilder}
import org.apache.spark.sql.execution.datasources.{DataSource, HadoopFsRelation}
import org.apache.spark.sql.execution.datasources.v2.{DataSourceV2Utils, FileDataSourceV2, V2SessionCatalog}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.InsertableRelation
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.util.Utils

/** A foreign table as the planner stores it: `USING parquet`, `delta`, …. Spark reads and writes its rows. */
case class ForeignDefinition(provider: String, columns: StructType, partitionColumns: Seq[String],
    properties: Map[String, String], sessionEntry: Option[String] = None) {
  val location: Option[String] = properties.get(TableCatalog.PROP_LOCATION)

  /** Whether the catalog chose the folder, which goes with the table. */
  val isOwnFolder: Boolean = properties.get(TableCatalog.PROP_IS_MANAGED_LOCATION).contains("true")
  lazy val bucket: Option[BucketSpec] = SessionEntry.bucket(sessionEntry)
  val isDelta: Boolean = provider.equalsIgnoreCase("delta")

  /** The options that are passed to the format itself. */
  def options: Map[String, String] = properties.collect {
    case (key, value) if key.startsWith(TableCatalog.OPTION_PREFIX) =>
      key.stripPrefix(TableCatalog.OPTION_PREFIX) -> value
  }
  def declared: Requests.DeclaredForeign = Requests.DeclaredForeign(
    columns.json, partitionColumns, properties + (TableCatalog.PROP_PROVIDER -> provider), sessionEntry)
  def partitions: Array[Transform] = partitionColumns.map(Json.identity).toArray
  def info: TableInfo = new TableInfo.Builder()
    .withColumns(V2Columns.of(columns)).withPartitions(partitions)
    .withProperties((properties + (TableCatalog.PROP_PROVIDER -> provider)).asJava).build()
}

object ForeignDefinition {

  /** The definition in the planner's answer. */
  def apply(known: Answers.ForeignDefinition): ForeignDefinition = ForeignDefinition(
    known.provider,
    Json.struct(known.columns),
    known.partitionColumns,
    known.properties ++ known.location.map(TableCatalog.PROP_LOCATION -> _) ++
      known.comment.map(TableCatalog.PROP_COMMENT -> _),
    known.sessionEntry
  )

  /** The definition in a CREATE TABLE of Spark's session catalog, in which partition columns come last, and a format's
    * options are no properties. */
  def ofSession(info: TableInfo, folder: String): ForeignDefinition = {
    val (buckets, others) = info.partitions.toSeq.partition(_.name.endsWith("bucket"))
    val stated = apply(
      new TableInfo.Builder().withColumns(info.columns).withPartitions(others.toArray).withProperties(info.properties)
        .build(),
      folder)
    val (last, first) =
      stated.columns.fields.partition(field => stated.partitionColumns.exists(_.equalsIgnoreCase(field.name)))
    val options = stated.options
    val table = CatalogTable(
      TableIdentifier(""),
      CatalogTableType.EXTERNAL,
      CatalogStorageFormat.empty,
      StructType(Nil),
      createVersion = SPARK_VERSION,
      bucketSpec = buckets.headOption.collect { case BucketTransform(count, columns, sorted) =>
        BucketSpec(count, columns.map(_.fieldNames.mkString(".")), sorted.map(_.fieldNames.mkString(".")))
      },
      tracksPartitionsInCatalog = stated.partitionColumns.nonEmpty && SQLConf.get.manageFilesourcePartitions
    )
    stated.copy(
      columns = StructType(first ++ stated.partitionColumns.flatMap(name => last.find(_.name.equalsIgnoreCase(name)))),
      properties = stated.properties.filterNot { case (key, value) =>
        options.get(key).contains(value)
      } -
        (TableCatalog.OPTION_PREFIX + "path"),
      sessionEntry = Some(SessionEntry.text(table, Nil))
    )
  }

  /** The definition in a CREATE TABLE; `folder` is used if the statement names no location. */
  def apply(info: TableInfo, folder: String): ForeignDefinition = {
    val stated = info.properties.asScala.toMap
    val place = if (stated.contains(TableCatalog.PROP_LOCATION)) Map.empty
    else if (stated.contains(TableCatalog.OPTION_PREFIX + "path"))
      Map(TableCatalog.PROP_LOCATION -> stated(TableCatalog.OPTION_PREFIX + "path"))
    else Map(TableCatalog.PROP_LOCATION -> folder, TableCatalog.PROP_IS_MANAGED_LOCATION -> "true")
    ForeignDefinition(
      stated(TableCatalog.PROP_PROVIDER),
      v2ColumnsToStructType(info.columns),
      info.partitions.toSeq.map(partitionColumn),
      stated - TableCatalog.PROP_PROVIDER ++ place
    )
  }
  private def partitionColumn(transform: Transform): String =
    if (transform.name == "identity") transform.references.head.fieldNames.mkString(".")
    else throw Errors.foreignPartitioning(transform.describe)
}

/** Passes tables `USING …` to Spark: Delta's to Delta's catalog by path, others as Spark 4.2's own table that
  * "delegates to a data source". This process keeps no state of them. */
class ForeignTables(catalogName: String) {
  private def session = SparkSession.active

  /** Spark's session catalog, if this one stands in its place: tables of files are Spark's own there. */
  private def inSession: Option[StoredSessionCatalog] =
    if (catalogName == SESSION_CATALOG_NAME) StoredSessionCatalog.of(session) else None

  /** The definition in a CREATE TABLE; `folder` is used if the statement names no location. */
  def defined(info: TableInfo, folder: String): ForeignDefinition = {
    val provider = info.properties.get(TableCatalog.PROP_PROVIDER)
    ConnectorFormat.refuse(provider)
    if (inSession.nonEmpty && !provider.equalsIgnoreCase("delta")) ForeignDefinition.ofSession(info, folder)
    else ForeignDefinition(info, folder)
  }

  /** Before a write without a session catalog, which tells none of its partitions: from now on they are those that
    * have folders. */
  @tailrec final def prepareWrite(relation: Requests.RelationReference, definition: ForeignDefinition): Unit =
    if (inSession.isEmpty) SessionEntry.followingFolders(definition) match {
      case Some(marked)
          if !PlannerProcess.ask(Requests.ReplaceForeign(relation, marked.declared,
              definition.declared)) =>
        PlannerProcess.ask(Requests.LoadTable(relation)) match {
          case newer: Answers.ForeignDefinition => prepareWrite(relation, ForeignDefinition(newer))
          case _ => ()
        }
      case _ => ()
    }

  /** Says that names stand for no table, or for another one. */
  def forget(names: Identifier*): Unit =
    for (catalog <- inSession; name <- names if name.namespace.length == 1) {
      session.sessionState.catalog.invalidateCachedTable(cached(name))
      catalog.forget(name.namespace.head, name.name)
    }
  private def cached(name: Identifier): QualifiedTableName = {
    def key(text: String): String = if (inSession.nonEmpty) text.toLowerCase(Locale.ROOT) else text
    QualifiedTableName(catalogName, key(name.namespace.last), key(name.name))
  }

  /** Delta's catalog, used with paths only, so that it makes no entries in the session catalog below it. */
  private lazy val delta: TableCatalog with StagingTableCatalog = {
    val catalog = Utils.classForName[CatalogExtension]("org.apache.spark.sql.delta.catalog.DeltaCatalog")
      .getConstructor().newInstance()
    catalog.setDelegateCatalog(new V2SessionCatalog(session.sessionState.catalog))
    catalog.initialize(SESSION_CATALOG_NAME, CaseInsensitiveStringMap.empty())
    catalog.asInstanceOf[TableCatalog with StagingTableCatalog]
  }
  private def path(definition: ForeignDefinition): Identifier = Identifier.of(Array("delta"), definition.location.get)

  def load(relation: Requests.RelationReference, definition: ForeignDefinition, version: Option[String],
      micros: Option[Long]): Table = {
    val ident = relation.identifier
    if (definition.isDelta) {
      version.map(delta.loadTable(path(definition), _: String))
        .orElse(micros.map(delta.loadTable(path(definition), _: Long))).getOrElse(delta.loadTable(path(definition)))
    } else if (version.nonEmpty || micros.nonEmpty) {
      throw Errors.withoutVersions(ident.toString, s"a table USING ${definition.provider}")
    } else {
      // Spark caches the list of files; another process may have written files since.
      session.sessionState.catalog.invalidateCachedTable(cached(ident))
      DataSource.lookupDataSourceV2(definition.provider, session.sessionState.conf) match {
        case None | Some(_: FileDataSourceV2) => inSession
            .map { catalog =>
              val table = catalog.entry(ident.namespace.last, ident.name, definition)
              V1Table(table.copy(identifier = table.identifier.copy(catalog = Some(catalogName))))
            }
            .getOrElse(new ForeignFiles(definition, ident))
        case Some(provider) => DataSourceV2Utils.getTableFromProvider(
            provider,
            new CaseInsensitiveStringMap(
              (definition.options ++ definition.location.map("path" -> _)).asJava),
            if (provider.supportsExternalMetadata) Some(definition.columns) else None
          )
      }
    }
  }

  /** Creates an empty table in its format; returns the definition that the planner is to store. */
  def create(definition: ForeignDefinition): ForeignDefinition =
    if (definition.isDelta) ofDelta(definition, delta.createTable(path(definition), deltaInfo(definition)))
    else if (DataSource.lookupDataSourceV2(definition.provider, session.sessionState.conf)
        .exists(!_.isInstanceOf[FileDataSourceV2])) definition
    else {
      // Spark's own check in CREATE TABLE: can the format store these columns? Which columns do existing files have?
      val relation = DataSource(
        session,
        definition.provider,
        userSpecifiedSchema = Some(definition.columns).filter(_.nonEmpty),
        partitionColumns = definition.partitionColumns,
        options = definition.options ++ definition.location.map("path" -> _)
      ).resolveRelation(checkFilesExist = false)
      relation match {
        case _ if definition.columns.nonEmpty => definition
        case files: HadoopFsRelation => definition.copy(columns = files.schema,
            partitionColumns = files.partitionSchema.fieldNames.toSeq)
        case other => definition.copy(columns = other.schema)
      }
    }

  /** A table that is filled before it has a name, with rows of `columns`; `recorded` gives it its name. */
  def stage(definition: ForeignDefinition, columns: Array[Column], replaced: Option[ForeignDefinition],
      recorded: ForeignDefinition => Unit, isRecorded: ForeignDefinition => Boolean): StagedTable =
    if (definition.isDelta) {
      val same = replaced.filter(_.isDelta)
      val place = same.map(old =>
        definition.copy(properties = definition.properties --
          Seq(TableCatalog.PROP_LOCATION, TableCatalog.PROP_IS_MANAGED_LOCATION) ++ old.properties.filter {
            case (key, _) => key == TableCatalog.PROP_LOCATION || key == TableCatalog.PROP_IS_MANAGED_LOCATION
          })).getOrElse(definition)
      val staged = if (same.isEmpty) delta.stageCreate(path(place), deltaInfo(place))
      else delta.stageReplace(path(place), deltaInfo(place))
      new RecordedStagedTable(staged.asInstanceOf[StagedTable with SupportsWrite],
        () => recorded(ofDelta(place, delta.loadTable(path(place)))))
    } else new StagedFiles(definition, columns, () => recorded(withFolders(create(definition))),
      () => isRecorded(definition))

  /** The definition with a partition for each folder of one, if its session entry tells partitions. */
  private def withFolders(definition: ForeignDefinition): ForeignDefinition = {
    val (table, known) = SessionEntry.read(TableIdentifier(""), definition)
    val folders = ForeignTables.partitionFolders(table, session)
    if (!table.tracksPartitionsInCatalog || folders.isEmpty) definition
    else definition.copy(sessionEntry = Some(SessionEntry.text(table, known ++ folders)))
  }

  def alter(definition: ForeignDefinition, changes: Seq[TableChange]): ForeignDefinition =
    if (definition.isDelta) ofDelta(definition, delta.alterTable(path(definition), changes: _*))
    else {
      changes.foreach {
        case _: TableChange.SetProperty | _: TableChange.RemoveProperty | _: TableChange.UpdateColumnComment => ()
        case add: TableChange.AddColumn if add.fieldNames.length == 1 && add.isNullable => ()
        case _ => throw Errors.foreignAlter(definition.provider)
      }
      definition.copy(
        properties = applyPropertiesChanges(definition.properties, changes),
        columns = applySchemaChanges(definition.columns, changes, Some(definition.provider), "ALTER TABLE")
      )
    }

  private def deltaInfo(definition: ForeignDefinition): TableInfo = definition.copy(properties =
    definition.properties -- Seq(TableCatalog.PROP_LOCATION, TableCatalog.PROP_IS_MANAGED_LOCATION)).info

  /** The definition with a copy of the columns for JDBC metadata; Delta's own log stays authoritative. */
  private def ofDelta(definition: ForeignDefinition, table: Table): ForeignDefinition = definition.copy(
    columns = v2ColumnsToStructType(table.columns),
    partitionColumns =
      table.partitioning.toSeq.filter(_.name == "identity").map(_.references.head.fieldNames.mkString("."))
  )
}

object ForeignTables {

  /** CREATE TABLE LIKE a table of Spark's: of its format, with its partitions and buckets, and by default its options. */
  def like(info: TableInfo, source: CatalogTable): TableInfo = {
    val stated = info.properties.asScala.toMap
    val properties = if (stated.contains(TableCatalog.PROP_PROVIDER)) stated
    else stated ++ source.provider.map(TableCatalog.PROP_PROVIDER -> _) ++ source.storage.properties.map {
      case (key, value) => (TableCatalog.OPTION_PREFIX + key) -> value
    }
    new TableInfo.Builder().withColumns(info.columns).withPartitions(V1Table(source).partitioning)
      .withProperties(properties.asJava).build()
  }

  /** The partitions that there are folders of below a table's own. */
  def partitionFolders(table: CatalogTable, session: SparkSession): Seq[CatalogTablePartition] = {
    val folder = new Path(table.location)
    val files = folder.getFileSystem(session.sessionState.newHadoopConf())
    val paths = table.partitionColumnNames.foldLeft(Seq(folder).filter(files.exists)) { (above, column) =>
      above.flatMap(path => files.listStatus(path).filter(_.isDirectory).map(_.getPath))
        .filter(_.getName.toLowerCase(Locale.ROOT).startsWith(
            ExternalCatalogUtils.escapePathName(column).toLowerCase(Locale.ROOT) + "="))
    }
    paths.map { path =>
      val values =
        Iterator.iterate(path)(_.getParent).take(table.partitionColumnNames.size).map(_.getName).toSeq.reverse
          .map(name => ExternalCatalogUtils.unescapePathName(name.drop(name.indexOf('=') + 1)))
      CatalogTablePartition(table.partitionColumnNames.zip(values).toMap,
        table.storage.copy(locationUri = Some(path.toUri)))
    }
  }
}

/** A staged table of Delta's that is recorded in the planner once Delta has committed it. */
private class RecordedStagedTable(table: StagedTable with SupportsWrite, recorded: () => Unit)
    extends StagedTable with SupportsWrite {
  override def name(): String = table.name
  override def columns(): Array[Column] = table.columns
  override def partitioning(): Array[Transform] = table.partitioning
  override def properties(): util.Map[String, String] = table.properties
  override def capabilities(): util.Set[TableCapability] = table.capabilities
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = table.newWriteBuilder(info)
  override def commitStagedChanges(): Unit = { table.commitStagedChanges(); recorded() }
  override def abortStagedChanges(): Unit = table.abortStagedChanges()
}

/** Files that Spark reads, and SQL writes, as one of Spark's own tables; writes of a DataFrame use `FileWrite`, and
  * streams the entry that Spark's session catalog would have. */
private class ForeignFiles(definition: ForeignDefinition, ident: Identifier)
    extends DelegatingTable(definition.info, ident.toString) with SupportsWrite with V2TableWithV1Fallback {
  override def toString: String = name()
  override def v1Table: CatalogTable =
    SessionEntry.read(TableIdentifier(ident.name, ident.namespace.lastOption), definition)._1
  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE)
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder with SupportsTruncate {
    private var mode = SaveMode.Append
    override def truncate(): WriteBuilder = { mode = SaveMode.Overwrite; this }
    override def build(): Write = FileWrite(definition, mode, info)
  }
}

private case class FileWrite(definition: ForeignDefinition, mode: SaveMode, info: LogicalWriteInfo) extends V1Write {
  override def toInsertableRelation: InsertableRelation = (data: DataFrame, _: Boolean) => {
    val session = data.sparkSession.asInstanceOf[SparkSession]
    val options = definition.options ++ info.options.asCaseSensitiveMap.asScala
    definition.bucket match {
      case None => data.write.format(definition.provider).mode(mode).options(options)
          .partitionBy(definition.partitionColumns: _*).save(definition.location.get)
      case buckets => // `save` refuses them
        val source = DataSource(session, definition.provider, partitionColumns = definition.partitionColumns,
          bucketSpec = buckets, options = options + ("path" -> definition.location.get))
        Dataset.ofRows(session, source.planForWriting(mode, data.asInstanceOf[Dataset[Row]].logicalPlan))
    }
  }
}

/** A staged table of files, which are written into a folder that no table uses yet. */
private class StagedFiles(definition: ForeignDefinition, override val columns: Array[Column], recorded: () => Unit,
    isRecorded: () => Boolean) extends StagedTable with SupportsWrite {
  override def name(): String = definition.location.getOrElse(definition.provider)
  override def capabilities(): util.Set[TableCapability] =
    util.EnumSet.of(TableCapability.V1_BATCH_WRITE, TableCapability.TRUNCATE)
  override def newWriteBuilder(info: LogicalWriteInfo): WriteBuilder = new WriteBuilder with SupportsTruncate {
    override def truncate(): WriteBuilder = this // nothing to truncate, because the folder is new
    override def build(): Write = FileWrite(definition, SaveMode.ErrorIfExists, info)
  }
  override def commitStagedChanges(): Unit = recorded()

  /** Spark aborts, too, where the answer to the commit was lost. */
  override def abortStagedChanges(): Unit =
    if (definition.isOwnFolder && !isRecorded()) {
      val folder = new Path(definition.location.get)
      folder.getFileSystem(SparkSession.active.sessionState.newHadoopConf()).delete(folder, true)
    }
}
