package org.apache.spark.sql.tablestore

import java.util

import scala.jdk.CollectionConverters._

import org.apache.spark.SparkEnv
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s._
import org.json4s.JsonDSL._

/** The catalog of managed tables and views. Every method is one request to the planner. */
class TableStoreCatalog extends RelationCatalog with StagingTableCatalog with SupportsNamespaces with ProcedureCatalog
    with BucketFunctions {
  import Json.formats
  private var catalog: JObject = _
  private var catalogName: String = _
  private lazy val foreign = new ForeignTables(catalogName)

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = {
    catalogName = name
    catalog = ("catalog" -> name) ~ ("options" ->
      (Json.strings(options.asCaseSensitiveMap) ~ ("spark.sql.warehouse.dir" -> SQLConf.get.warehousePath))) ~
      // Of the application's configuration alone: a session may set what it likes.
      ("allowed_roots" -> SparkEnv.get.conf.get(s"spark.sql.catalog.$name.allowed-roots", ""))
  }

  override def name(): String = catalogName

  /** The name it is configured by. */
  def ownName: String = catalogName

  /** The same catalog, which Spark does not take for its session catalog. */
  def underAnotherName: TableStoreCatalog =
    as(new TableStoreCatalog { override def name(): String = "table_store" }, catalog)

  /** The same catalog, in which the session's temporary tables alone are seen. */
  def ofTemporaryTables: TableStoreCatalog = as(new TableStoreCatalog, catalog ~ ("only_temporary" -> true))
  private def as(other: TableStoreCatalog, said: JObject): TableStoreCatalog = {
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

  private def ask(request: String, argument: JObject, repeatable: Boolean = true): JValue =
    PlannerProcess.ask(request, catalog ~ argument, repeatable = repeatable)
  private def change(request: String, argument: JObject): JValue = ask(request, argument, repeatable = false)
  private def followed[T](names: Identifier*)(result: T): T = {
    SessionCatalogMirror.follow(catalog, names: _*); result
  }

  // Tables
  private def load(ident: Identifier, travel: JObject): Table = ask("load_table", Json.ident(ident) ~ travel) match {
    case JNothing | JNull => throw new NoSuchTableException(ident)
    case table => toTable(ident, table, travel)
  }
  private def toTable(ident: Identifier, table: JValue, travel: JObject = JObject()): Table = table \ "foreign" match {
    case JNothing => ManagedTable(catalog, ident, table)
    case definition => foreign.load(ident, ForeignDefinition(definition),
        (travel \ "version").extractOpt[String], (travel \ "timestamp_us").extractOpt[Long])
  }
  override def tableExists(ident: Identifier): Boolean = ask("table_exists", Json.ident(ident)).extract[Boolean]
  override def loadTable(ident: Identifier): Table = load(ident, JObject())
  override def loadTable(ident: Identifier, privileges: util.Set[TableWritePrivilege]): Table =
    load(ident, "privileges" -> privileges.asScala.map(_.toString).toList)
  override def loadTable(ident: Identifier, version: String): Table = load(ident, "version" -> version)
  override def loadTable(ident: Identifier, micros: Long): Table = load(ident, "timestamp_us" -> micros)

  override def loadChangelog(
      ident: Identifier, context: ChangelogContext, options: CaseInsensitiveStringMap): Changelog =
    ask("load_changelog", Json.ident(ident) ~ ManagedChangelog.request(context)) match {
      case JNothing | JNull => throw new NoSuchTableException(ident)
      case changelog => new ManagedChangelog(catalog, ident, changelog)
    }

  override def loadRelation(ident: Identifier): Relation =
    ask("load_relation", Json.ident(ident)) match {
      case JNothing | JNull => throw new NoSuchTableException(ident)
      case view if (view \ "queryText") != JNothing => toView(view)
      case table => toTable(ident, table)
    }

  override def listTables(namespace: Array[String]): Array[Identifier] = listed("list_tables", namespace)

  private def listed(request: String, namespace: Array[String]): Array[Identifier] =
    ask(request, "namespace" -> namespace.toList) match {
      case JNothing | JNull => throw new NoSuchNamespaceException(namespace)
      case names => names.extract[Array[String]].map(Identifier.of(namespace, _))
    }

  private def definition(info: TableInfo): JObject =
    ("columns" -> Json.columns(info.columns)) ~ ("partitions" -> Json.transforms(info.partitions)) ~
      ("properties" -> Json.strings(info.properties.asScala.view.mapValues(SealedSecrets.opened).toMap.asJava)) ~
      ("constraints" -> Json.constraints(info.constraints))

  private def createdBy(request: String, ident: Identifier, info: TableInfo): JValue =
    change(request, Json.ident(ident) ~ definition(info)) match {
      case JString("table_exists") => throw new TableAlreadyExistsException(ident)
      case JString("no_such_namespace") => throw new NoSuchNamespaceException(ident.namespace)
      case JString("no_such_table") => throw new NoSuchTableException(ident)
      case table => table
    }

  override def createTable(ident: Identifier, info: TableInfo): Table =
    followed(ident)(createdBy("create_table", ident, info) match {
      case answer if (answer \ "foreign") != JNothing =>
        recordForeign(ident, isNew = true)(foreign.create(foreignDefinition(info, answer)))
        loadTable(ident)
      case table => ManagedTable(catalog, ident, table)
    })

  private def foreignDefinition(info: TableInfo, answer: JValue): ForeignDefinition =
    ForeignDefinition(info, (answer \ "foreign" \ "folder").extract[String])

  private def recordForeign(ident: Identifier, isNew: Boolean)(definition: ForeignDefinition): Unit =
    change("record_foreign",
      Json.ident(ident) ~ ("definition" -> definition.toJson) ~ ("is_new" -> isNew)).extract[String] match {
      case "table_exists" => throw new TableAlreadyExistsException(ident)
      case "no_such_namespace" => throw new NoSuchNamespaceException(ident.namespace)
      case _ => ()
    }

  override def createTableLike(ident: Identifier, info: TableInfo, source: Table): Table = {
    val like: JObject = source match {
      case managed: ManagedTable => ("source" -> managed.handle \ "handle") ~
          ("source_properties" -> Json.strings(managed.properties)) ~
          ("source_constraints" -> Json.constraints(managed.constraints))
      case _ => JObject() // a view's or another format's mean nothing here
    }
    followed(ident)(change("create_table", Json.ident(ident) ~ definition(info) ~ like) match {
      case JString("table_exists") => throw new TableAlreadyExistsException(ident)
      case JString("no_such_namespace") => throw new NoSuchNamespaceException(ident.namespace)
      case answer if (answer \ "foreign") != JNothing =>
        recordForeign(ident, isNew = true)(foreign.create(foreignDefinition(info, answer)))
        loadTable(ident)
      case table => ManagedTable(catalog, ident, table)
    })
  }

  private def staged(request: String, ident: Identifier, info: TableInfo): StagedTable =
    createdBy(request, ident, info) match {
      case answer if (answer \ "foreign") != JNothing =>
        val replaced = (answer \ "foreign" \ "replaced").toOption.filter(_ != JNull).map(ForeignDefinition(_))
        foreign.stage(foreignDefinition(info, answer), replaced,
          definition => followed(ident)(recordForeign(ident, isNew = replaced.isEmpty)(definition)))
      case table => new StagedManagedTable(catalog, ident, table)
    }
  override def stageCreate(ident: Identifier, info: TableInfo): StagedTable = staged("stage_create", ident, info)
  override def stageReplace(ident: Identifier, info: TableInfo): StagedTable = staged("stage_replace", ident, info)
  override def stageCreateOrReplace(ident: Identifier, info: TableInfo): StagedTable =
    staged("stage_create_or_replace", ident, info)

  override def alterTable(ident: Identifier, changes: TableChange*): Table =
    followed(ident)(change("alter_table", Json.ident(ident) ~ ("changes" -> changes.toList.map(Json.change))) match {
      case JNothing | JNull => throw new NoSuchTableException(ident)
      case answer if (answer \ "foreign") != JNothing =>
        recordForeign(ident, isNew = false)(foreign.alter(ForeignDefinition(answer \ "foreign"), changes))
        loadTable(ident)
      case table => ManagedTable(catalog, ident, table)
    })

  override def dropTable(ident: Identifier): Boolean =
    followed(ident)(change("drop_table", Json.ident(ident)).extract[Boolean])
  override def purgeTable(ident: Identifier): Boolean = dropTable(ident)

  override def renameTable(from: Identifier, to: Identifier): Unit = renamed("rename_table", from, to) match {
    case "no_such_relation" => throw new NoSuchTableException(from)
    case "relation_exists" => throw new TableAlreadyExistsException(to)
    case _ => ()
  }
  private def renamed(request: String, from: Identifier, to: Identifier): String =
    followed(from, to)(change(request, Json.ident(from) ~ ("to" -> Json.ident(to))).extract[String]) match {
      case "no_such_namespace" => throw new NoSuchNamespaceException(to.namespace)
      case answer => answer
    }

  // Views
  private def toView(view: JValue): View = {
    val builder = new View.Builder()
      .withQueryText((view \ "queryText").extract[String])
      .withCurrentCatalog((view \ "currentCatalog").extractOpt[String].orNull)
      .withCurrentNamespace((view \ "currentNamespace").extract[Array[String]])
      .withSqlConfigs(Json.toStrings(view \ "sqlConfigs"))
      .withSchemaMode((view \ "schemaMode").extractOpt[String].orNull)
      .withQueryColumnNames((view \ "queryColumnNames").extract[Array[String]])
    builder.withColumns(Json.toColumns(view \ "columns"))
    builder.withProperties(Json.toStrings(view \ "properties"))
    new View(builder) {

      /** As a query is analysed by: with CHAR and VARCHAR as the strings that Spark has made of them below. */
      override def columns(): Array[Column] =
        CatalogV2Util.structTypeToV2Columns(CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema()))
    }
  }

  private def fromView(ident: Identifier, view: View): JObject = Json.ident(ident) ~ ("view" ->
    (("queryText" -> view.queryText) ~ ("currentCatalog" -> Option(view.currentCatalog)) ~
      ("currentNamespace" -> view.currentNamespace.toList) ~ ("sqlConfigs" -> Json.strings(view.sqlConfigs)) ~
      ("schemaMode" -> Option(view.schemaMode)) ~ ("queryColumnNames" -> view.queryColumnNames.toList) ~
      ("columns" -> Json.columns(view.columns)) ~ ("properties" -> Json.strings(view.properties))))

  private def viewWritten(request: String, ident: Identifier, view: View): View =
    change(request, fromView(ident, view)) match {
      case JString("view_exists") => throw new ViewAlreadyExistsException(ident)
      case JString("no_such_view") => throw new NoSuchViewException(ident)
      case JString("no_such_namespace") => throw new NoSuchNamespaceException(ident.namespace)
      case _ => followed(ident)(view)
    }

  override def listViews(namespace: Array[String]): Array[Identifier] = listed("list_views", namespace)
  override def createView(ident: Identifier, view: View): View = viewWritten("create_view", ident, view)
  override def replaceView(ident: Identifier, view: View): View = viewWritten("replace_view", ident, view)
  override def createOrReplaceView(ident: Identifier, view: View): View =
    viewWritten("create_or_replace_view", ident, view)

  /** Other columns for a view, unless its query is no longer that text. */
  def noteViewColumns(ident: Identifier, query: String, columns: Array[Column]): Unit = {
    change("note_view_columns",
      Json.ident(ident) ~ ("queryText" -> query) ~
        ("columns" -> Json.columns(columns)))
    SessionCatalogMirror.follow(catalog, ident)
  }
  override def dropView(ident: Identifier): Boolean =
    followed(ident)(change("drop_view", Json.ident(ident)).extract[Boolean])
  override def renameView(from: Identifier, to: Identifier): Unit = renamed("rename_view", from, to) match {
    case "no_such_relation" => throw new NoSuchViewException(from)
    case "relation_exists" => throw new ViewAlreadyExistsException(to)
    case _ => ()
  }

  // Namespaces
  override def listNamespaces(): Array[Array[String]] =
    ask("list_namespaces", JObject()).extract[Array[String]].map(Array(_))
  override def listNamespaces(namespace: Array[String]): Array[Array[String]] =
    if (namespace.isEmpty) listNamespaces()
    else if (namespaceExists(namespace)) Array.empty
    else throw new NoSuchNamespaceException(namespace)
  override def namespaceExists(namespace: Array[String]): Boolean =
    namespace.sameElements(defaultNamespace()) || metadata(namespace).isDefined
  override def loadNamespaceMetadata(namespace: Array[String]): util.Map[String, String] =
    metadata(namespace).map(Json.toStrings).getOrElse(throw new NoSuchNamespaceException(namespace))
  private def metadata(namespace: Array[String]): Option[JValue] =
    ask("load_namespace", "namespace" -> namespace.toList) match {
      case JNothing | JNull => None
      case properties => Some(properties)
    }
  override def createNamespace(namespace: Array[String], properties: util.Map[String, String]): Unit =
    if (!change("create_namespace",
        ("namespace" -> namespace.toList) ~
          ("properties" -> Json.strings(properties))).extract[Boolean]) {
      throw new NamespaceAlreadyExistsException(namespace)
    } else SessionCatalogMirror.followNamespace(catalog, namespace, exists = true)
  override def alterNamespace(namespace: Array[String], changes: NamespaceChange*): Unit = {
    val (set, unset) = changes.partition(_.isInstanceOf[NamespaceChange.SetProperty])
    change(
      "alter_namespace",
      ("namespace" -> namespace.toList) ~
        ("set" -> Json.strings(set.collect { case c: NamespaceChange.SetProperty =>
          c.property -> c.value
        }.toMap.asJava)) ~
        ("unset" -> unset.toList.collect { case c: NamespaceChange.RemoveProperty => c.property })
    )
  }
  override def dropNamespace(namespace: Array[String], cascade: Boolean): Boolean =
    change("drop_namespace", ("namespace" -> namespace.toList) ~ ("cascade" -> cascade)) match {
      case JString("not_empty") => throw new NonEmptyNamespaceException(namespace)
      case dropped =>
        SessionCatalogMirror.followNamespace(catalog, namespace, exists = false)
        dropped.extract[Boolean]
    }

  // Procedures
  override def listProcedures(namespace: Array[String]): Array[Identifier] = {
    val found = ask("list_procedures", JObject())
    val place = Array((found \ "namespace").extract[String])
    (found \ "names").extract[Array[String]].map(Identifier.of(place, _))
  }
  override def loadProcedure(ident: Identifier): UnboundProcedure =
    ask("load_procedure", Json.ident(ident)) match {
      case JNothing | JNull => throw Errors.noSuchProcedure(catalogName, ident)
      case procedure => new StoredProcedure(catalog, ident, procedure)
    }
}
