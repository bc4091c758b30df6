package org.apache.spark.sql.tablestore

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The catalog of managed tables and views. Every method is one request to the planner. */
class TableStoreCatalog extends RelationCatalog with StagingTableCatalog with SupportsNamespaces with ProcedureCatalog
    with SessionFunctions {
  private var catalog: Requests.CatalogReference = _
  private var catalogName: String = _
  private lazy val foreign = new ForeignTables(catalogName)

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    catalogName = name
    catalog = SessionSettings.reference(name, options.asCaseSensitiveMap.asScala.toMap, SQLConf.get)
    if (name == CatalogManager.SESSION_CATALOG_NAME) StoredSessionCatalog.install(classic.SparkSession.active)
  }

  override def name(): String = catalogName

  /** Spark's errors show it in plans. */
  override def toString: String = catalogName

  /** The catalog as requests name it. */
  def reference: Requests.CatalogReference = catalog

  /** The name under which the catalog is configured. */
  def ownName: String = catalogName

  /** The same catalog under a name that Spark does not treat as its session catalog. */
  def underAnotherName: TableStoreCatalog =
    as(new TableStoreCatalog { override def name(): String = "table_store" }, catalog)

  /** The same catalog, restricted to the session's temporary tables. */
  def ofTemporaryTables: TableStoreCatalog = as(new TableStoreCatalog, catalog.copy(onlyTemporary = true))
  private def as(other: TableStoreCatalog, said: Requests.CatalogReference): TableStoreCatalog = {
    other.catalogName = catalogName
    other.catalog = said
    other
  }
  override def defaultNamespace(): Array[String] = Array("default")
  override def capabilities(): util.Set[TableCatalogCapability] = util.EnumSet.of(
    TableCatalogCapability.SUPPORTS_CREATE_TABLE_WITH_GENERATED_COLUMNS,
    TableCatalogCapability.SUPPORT_COLUMN_DEFAULT_VALUE,
    TableCatalogCapability.SUPPORT_TABLE_CONSTRAINT
  )

  private def relation(ident: Identifier): Requests.RelationReference =
    Requests.RelationReference(catalog, ident.namespace.toSeq, ident.name)
  private def ask[A](request: Requests.Request[A]): A = PlannerProcess.ask(request)
  private def followed[T](names: Identifier*)(result: T): T = {
    SessionCatalogMirror.follow(catalog, names: _*)
    result
  }

  // Tables
  private def load(request: Requests.LoadTable): Table = {
    val ident = request.relation.identifier
    toTable(ident, Errors.ofLoading(ident)(ask(request)), request.version, request.timestampUs)
  }
  private def toTable(ident: Identifier, table: Answers.LoadedTable, version: Option[String] = None,
      micros: Option[Long] = None): Table = table match {
    case managed: Answers.DescribedTable => ManagedTable(relation(ident), managed)
    case other: Answers.ForeignDefinition => foreign.load(relation(ident), ForeignDefinition(other), version, micros)
  }
  override def tableExists(ident: Identifier): Boolean = ask(Requests.TableExists(relation(ident)))
  override def loadTable(ident: Identifier): Table = load(Requests.LoadTable(relation(ident)))
  override def loadTable(ident: Identifier, privileges: util.Set[TableWritePrivilege]): Table = {
    val request = Requests.LoadTable(relation(ident), privileges = privileges.asScala.map(_.toString).toSeq)
    val answer = Errors.ofLoading(ident)(ask(request))
    answer match {
      case other: Answers.ForeignDefinition => foreign.prepareWrite(relation(ident), ForeignDefinition(other))
      case _ => ()
    }
    toTable(ident, answer)
  }
  override def loadTable(ident: Identifier, version: String): Table =
    load(Requests.LoadTable(relation(ident), version = Some(version)))
  override def loadTable(ident: Identifier, micros: Long): Table =
    load(Requests.LoadTable(relation(ident), timestampUs = Some(micros)))

  override def loadChangelog(
      ident: Identifier, context: ChangelogContext, options: CaseInsensitiveStringMap): Changelog = {
    val request = ManagedChangelog.request(relation(ident), context)
    new ManagedChangelog(request.relation, Errors.ofLoading(ident)(ask(request)))
  }

  override def loadRelation(ident: Identifier): Relation =
    Errors.ofLoading(ident)(ask(Requests.LoadRelation(relation(ident)))) match {
      case view: Answers.ViewDefinition => toView(view)
      case table: Answers.LoadedTable => toTable(ident, table)
    }

  override def listTables(namespace: Array[String]): Array[Identifier] =
    listed(namespace, Requests.ListTables(catalog, namespace.toSeq))

  /** From the names alone: no table is loaded, which may be damaged, or dropped by then. */
  override def listTableSummaries(namespace: Array[String]): Array[TableSummary] =
    listTables(namespace).map(TableSummary.of(_, TableSummary.FOREIGN_TABLE_TYPE))

  private def listed(namespace: Array[String], request: Requests.Request[Seq[String]]): Array[Identifier] =
    Errors.ofNamespace(namespace)(ask(request)).map(Identifier.of(namespace, _)).toArray

  private def declared(ident: Identifier, info: TableInfo) = {
    val stated = info.properties.asScala.view.mapValues(SealedSecrets.opened).toMap
    Requests.DeclaredTable(
      Json.columns(info.columns),
      info.partitions.toSeq.map(Json.transform),
      if (stated.get(TableCatalog.PROP_PROVIDER).contains(TableStoreFormat.name))
        TableStoreFormat.withoutName(stated, ident)
      else stated,
      info.constraints.toSeq.map(Json.constraint)
    )
  }

  override def createTable(ident: Identifier, info: TableInfo): Table = created(ident, info, None)

  private def created(ident: Identifier, info: TableInfo, like: Option[Requests.LikeSource]): Table = {
    val request = Requests.CreateTable(relation(ident), declared(ident, info), like)
    val answer = Errors.ofDefining(ident)(ask(request))
    followed(ident)(answer match {
      case managed: Answers.DescribedTable => ManagedTable(relation(ident), managed)
      case place: Answers.ForeignPlace =>
        recordForeign(ident, isNew = true)(foreign.create(foreign.defined(info, place.folder)))
        loadTable(ident)
    })
  }

  /** Whether a name is that of a foreign table in a folder. */
  private def isForeignAt(ident: Identifier)(definition: ForeignDefinition): Boolean =
    tableExists(ident) && (ask(Requests.LoadTable(relation(ident))) match {
      case other: Answers.ForeignDefinition => ForeignDefinition(other).location == definition.location
      case _ => false
    })

  private def recordForeign(ident: Identifier, isNew: Boolean)(definition: ForeignDefinition): Unit =
    Errors.ofDefining(ident)(ask(Requests.RecordForeign(relation(ident), definition.declared, isNew)))

  override def createTableLike(ident: Identifier, info: TableInfo, source: Table): Table = source match {
    case managed: ManagedTable => created(
        ident,
        info,
        Some(Requests.LikeSource(managed.reference.handle, managed.properties.asScala.toMap,
            managed.constraints.toSeq.map(Json.constraint)))
      )
    case spark: V1Table if catalogName == CatalogManager.SESSION_CATALOG_NAME =>
      created(ident, ForeignTables.like(info, spark.catalogTable), None)
    case _ => created(ident, info, None) // properties of a view or of another format mean nothing here
  }

  private def staged(mode: String, ident: Identifier, info: TableInfo): StagedTable =
    Errors.ofDefining(ident)(ask(Requests.StageTable(relation(ident), declared(ident, info), mode))) match {
      case managed: Answers.DescribedTable => new StagedManagedTable(relation(ident), managed)
      case place: Answers.ForeignPlace =>
        val replaced = place.replaced.map(ForeignDefinition(_))
        foreign.stage(
          foreign.defined(info, place.folder),
          info.columns,
          replaced,
          definition => followed(ident)(recordForeign(ident, isNew = replaced.isEmpty)(definition)),
          isForeignAt(ident)
        )
    }
  override def stageCreate(ident: Identifier, info: TableInfo): StagedTable =
    staged(Requests.StagingMode.create, ident, info)
  override def stageReplace(ident: Identifier, info: TableInfo): StagedTable =
    staged(Requests.StagingMode.replace, ident, info)
  override def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable =
    staged(Requests.StagingMode.createOrReplace, ident, info)

  override def alterTable(ident: Identifier, changes: TableChange*): Table = {
    val answer = Errors.ofLoading(ident)(ask(Requests.AlterTable(relation(ident), changes.map(Json.change))))
    followed(ident)(answer match {
      case managed: Answers.DescribedTable => ManagedTable(relation(ident), managed)
      case other: Answers.ForeignDefinition =>
        recordForeign(ident, isNew = false)(foreign.alter(ForeignDefinition(other), changes))
        loadTable(ident)
    })
  }

  override def dropTable(ident: Identifier): Boolean = {
    val dropped = ask(Requests.DropTable(relation(ident)))
    foreign.forget(ident)
    followed(ident)(dropped)
  }
  override def purgeTable(ident: Identifier): Boolean = dropTable(ident)

  override def renameTable(from: Identifier, to: Identifier): Unit = {
    Errors.ofRenaming(from, to)(ask(Requests.RenameTable(relation(from), relation(to))))
    foreign.forget(from, to)
    SessionCatalogMirror.follow(catalog, from, to)
  }

  // Materialized views
  def createMaterializedView(ident: Identifier, query: Requests.StoredQuery, definition: Requests.DeclaredTable,
      ifNotExists: Boolean): Unit = {
    Errors.ofDefining(ident)(ask(Requests.CreateMaterializedView(relation(ident), definition, query, ifNotExists)))
    SessionCatalogMirror.follow(catalog, ident)
  }

  // Views
  private def toView(view: Answers.ViewDefinition): View = {
    val builder = new View.Builder()
      .withQueryText(view.queryText)
      .withCurrentCatalog(view.currentCatalog.orNull)
      .withCurrentNamespace(view.currentNamespace.toArray)
      .withSqlConfigs(view.sqlConfigs.asJava)
      // A view made while the session had no schema modes has Spark's default one in a session that has them.
      .withSchemaMode(view.schemaMode.filterNot(_ == SchemaUnsupported.toString).orNull)
      .withQueryColumnNames(view.queryColumnNames.toArray)
    builder.withColumns(CatalogV2Util.structTypeToV2Columns(Json.struct(view.columns)))
    builder.withProperties(view.properties.asJava)
    new View(builder) {

      /** The columns for the analysis of a query: CHAR and VARCHAR as strings, which the view's query returns. */
      override def columns(): Array[Column] =
        CatalogV2Util.structTypeToV2Columns(CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema()))
    }
  }

  private def fromView(view: View) = Requests.ViewDefinition(
    view.queryText,
    Option(view.currentCatalog),
    view.currentNamespace.toSeq,
    view.sqlConfigs.asScala.toMap,
    Option(view.schemaMode),
    view.queryColumnNames.toSeq,
    Json.columns(view.columns),
    view.properties.asScala.toMap
  )

  private def defined(mode: String, ident: Identifier, view: View): View = {
    Errors.ofDefining(ident, isView = true)(ask(Requests.DefineView(relation(ident), fromView(view), mode)))
    followed(ident)(view)
  }

  override def listViews(namespace: Array[String]): Array[Identifier] =
    listed(namespace, Requests.ListViews(catalog, namespace.toSeq))
  override def createView(ident: Identifier, view: View): View = defined(Requests.DefineMode.create, ident, view)
  override def replaceView(ident: Identifier, view: View): View = defined(Requests.DefineMode.replace, ident, view)
  override def createOrReplaceView(ident: Identifier, view: View): View =
    defined(Requests.DefineMode.createOrReplace, ident, view)

  /** Records a view's new columns, unless the view's query text has changed. */
  def noteViewColumns(ident: Identifier, query: String, columns: Array[Column]): Unit = {
    ask(Requests.NoteViewColumns(relation(ident), query, Json.columns(columns)))
    SessionCatalogMirror.follow(catalog, ident)
  }
  override def dropView(ident: Identifier): Boolean =
    followed(ident)(ask(Requests.DropView(relation(ident))))
  override def renameView(from: Identifier, to: Identifier): Unit = {
    Errors.ofRenaming(from, to, isView = true)(ask(Requests.RenameView(relation(from), relation(to))))
    SessionCatalogMirror.follow(catalog, from, to)
  }

  // Namespaces
  override def listNamespaces(): Array[Array[String]] =
    ask(Requests.ListNamespaces(catalog)).map(Array(_)).toArray
  override def listNamespaces(namespace: Array[String]): Array[Array[String]] =
    if (namespace.isEmpty) listNamespaces()
    else if (namespaceExists(namespace)) Array.empty
    else throw new NoSuchNamespaceException(namespace)
  override def namespaceExists(namespace: Array[String]): Boolean =
    namespace.sameElements(defaultNamespace()) ||
      (try { loadNamespaceMetadata(namespace); true }
      catch { case _: NoSuchNamespaceException => false })
  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] =
    Errors.ofNamespace(namespace)(ask(Requests.LoadNamespace(catalog, namespace.toSeq))).asJava
  override def createNamespace(namespace: Array[String], properties: util.Map[String, String]): Unit = {
    val request = Requests.CreateNamespace(catalog, namespace.toSeq, properties.asScala.toMap)
    Errors.ofNamespace(namespace)(ask(request))
    SessionCatalogMirror.followNamespace(catalog, namespace, exists = true)
  }
  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = ask(
    Requests.AlterNamespace(
      catalog,
      namespace.toSeq,
      changes.collect { case set: NamespaceChange.SetProperty => set.property -> set.value }.toMap,
      changes.collect { case unset: NamespaceChange.RemoveProperty => unset.property }
    ))
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean = {
    val dropped = Errors.ofNamespace(namespace)(ask(Requests.DropNamespace(catalog, namespace.toSeq, cascade)))
    SessionCatalogMirror.followNamespace(catalog, namespace, exists = false)
    dropped
  }

  // Procedures
  override def listProcedures(namespace: Array[String]): Array[Identifier] = {
    val found = ask(Requests.ListProcedures(catalog))
    found.names.map(Identifier.of(Array(found.namespace), _)).toArray
  }
  override def loadProcedure(ident: Identifier): UnboundProcedure =
    new StoredProcedure(relation(ident), ask(Requests.LoadProcedure(relation(ident))))
}
