package org.apache.spark.sql.tablestore

import org.apache.spark.sql.connector.catalog.Identifier
import org.json4s._

/** A JSON object with a key for each parameter; None is written as an absent key. */
trait Record extends Product {
  def toJson: JObject = JObject(productElementNames.zip(productIterator).map { case (key, value) =>
    key -> Record.json(value)
  }
      .filter(_._2 != JNothing).toList)
}

object Record {
  private def json(value: Any): JValue = value match {
    case json: JValue => json
    case record: Record => record.toJson
    case text: String => JString(text)
    case number: Long => JLong(number)
    case number: Int => JInt(number)
    case truth: Boolean => JBool(truth)
    case option: Option[_] => option.map(json).getOrElse(JNothing)
    case values: Map[_, _] => JObject(values.map { case (key, part) => key.toString -> nullable(part) }.toList)
    case values: Iterable[_] => JArray(values.map(json).toList)
    case other => throw new IllegalArgumentException(s"no JSON stands for a ${other.getClass}")
  }
  private def nullable(value: Any): JValue = if (value == None) JNull else json(value)
}

/** The requests to the planner with the types of their answers; JSON keys are the names of the parameters.
  * `catalog/planner/protocol` has the same values in Python, and a test compares both.
  */
object Requests {
  sealed abstract class Request[A](implicit val answer: Form[A]) extends Record {

    /** `LoadTable` has the name `load_table`. */
    lazy val name: String = productPrefix.replaceAll("(?<!^)(?=[A-Z])", "_").toLowerCase(java.util.Locale.ROOT)

    /** Whether the request may be sent again if the planner died before it answered. */
    def isRepeatable: Boolean = true
  }

  /** A request that changes something: if the planner dies, nobody knows whether the change happened. */
  sealed abstract class Change[A: Form] extends Request[A] {
    override def isRepeatable: Boolean = false
  }

  // The objects of requests

  case class CatalogReference(
      name: String, options: Map[String, String], allowedRoots: String, onlyTemporary: Boolean = false) extends Record

  case class RelationReference(catalog: CatalogReference, namespace: Seq[String], name: String) extends Record {
    def identifier: Identifier = Identifier.of(namespace.toArray, name)
  }

  /** A loaded table; `handle` is the planner's description of it, which is opaque to the bridge. */
  case class TableReference(relation: RelationReference, handle: JValue) extends Record {
    def isSystemTable: Boolean = handle \ "kind" match {
      case JString(kind) => kind == "SystemTableHandle" || kind == "TopologyTableHandle"
      case _ => false
    }
  }

  /** The column of change types that an INSERT names; it is appended to the name of the INSERT's table. */
  case class ChangeType(column: String, at: Int, static: Seq[String]) extends Record

  // Values of enumerations

  object StagingMode {
    val create = "create"
    val replace = "replace"
    val createOrReplace = "create or replace"
  }
  object DefineMode {
    val create = "create"
    val replace = "replace"
    val createOrReplace = "create or replace"
  }
  object JobCommand {
    val advance = "advance"
    val drain = "drain"
    val stop = "stop"
    val suspend = "suspend"
    val leave = "leave"
    val refresh = "refresh"
  }
  object HostCommand {
    val flush = "flush"
    val refresh = "refresh"
    val drain = "drain"
    val stop = "stop"
    val suspend = "suspend"
    val leave = "leave"
  }
  object RefusedStatement {
    val select = "SELECT"
    val overwrite = "INSERT OVERWRITE"
    val several = "INSERT into several tables"
    val foreign = "INSERT into a table that is not managed"
  }
  object WriteMode {
    val append = "append"
    val overwrite = "overwrite"
    val overwriteDynamic = "overwrite dynamic"
    val delta = "delta"
  }

  // Namespaces

  case class ListNamespaces(catalog: CatalogReference) extends Request[Seq[String]]
  case class LoadNamespace(catalog: CatalogReference, namespace: Seq[String]) extends Request[Map[String, String]]
  case class CreateNamespace(catalog: CatalogReference, namespace: Seq[String], properties: Map[String, String])
      extends Change[Unit]
  case class AlterNamespace(
      catalog: CatalogReference, namespace: Seq[String], changed: Map[String, String], removed: Seq[String])
      extends Change[Unit]
  case class DropNamespace(catalog: CatalogReference, namespace: Seq[String], cascade: Boolean) extends Change[Boolean]
  case class ListTables(catalog: CatalogReference, namespace: Seq[String]) extends Request[Seq[String]]
  case class ListViews(catalog: CatalogReference, namespace: Seq[String]) extends Request[Seq[String]]

  // Tables

  case class TableExists(relation: RelationReference) extends Request[Boolean]
  case class LoadTable(
      relation: RelationReference, version: Option[String] = None, timestampUs: Option[Long] = None,
      privileges: Seq[String] = Nil) extends Request[Answers.LoadedTable]
  case class LoadRelation(relation: RelationReference) extends Request[Answers.LoadedRelation]
  case class PartitionTransform(name: String, columns: Seq[Seq[String]], buckets: Option[Int] = None) extends Record
  case class DeclaredConstraint(
      kind: String, name: String, columns: Seq[Seq[String]] = Nil, condition: Option[String] = None) extends Record
  case class DeclaredTable(
      columns: String, partitions: Seq[PartitionTransform], properties: Map[String, String],
      constraints: Seq[DeclaredConstraint]) extends Record
  case class LikeSource(
      handle: JValue, properties: Map[String, String], constraints: Seq[DeclaredConstraint]) extends Record
  case class CreateTable(
      relation: RelationReference, definition: DeclaredTable, like: Option[LikeSource] = None)
      extends Change[Answers.CreatedTable]

  /** Asks for a temporary table with a connector; without columns it has those that the connector finds. */
  case class ReadConnector(
      catalog: CatalogReference, connector: String, options: Map[String, String], columns: Option[String])
      extends Change[Answers.DescribedTable]
  case class StageTable(relation: RelationReference, definition: DeclaredTable, mode: String)
      extends Change[Answers.CreatedTable]
  case class CommitStaged(table: TableReference) extends Change[Unit]
  case class AbortStaged(table: TableReference) extends Request[Unit]
  case class AlterTable(relation: RelationReference, changes: Seq[JObject]) extends Change[Answers.LoadedTable]
  case class FindSparkRead(table: TableReference) extends Request[Answers.SparkRead]
  case class FindSparkStream(table: TableReference) extends Request[Answers.StreamRange]
  case class CanAlter(table: TableReference, change: JObject) extends Request[Boolean]
  case class DropTable(relation: RelationReference) extends Change[Boolean]
  case class RenameTable(relation: RelationReference, to: RelationReference) extends Change[Unit]
  case class DeclaredForeign(
      columns: String, partitionColumns: Seq[String], properties: Map[String, String],
      sessionEntry: Option[String] = None) extends Record
  case class RecordForeign(relation: RelationReference, definition: DeclaredForeign, isNew: Boolean)
      extends Change[Unit]

  /** Replaces the definition if it still is the `known` one; false if not. */
  case class ReplaceForeign(relation: RelationReference, definition: DeclaredForeign, known: DeclaredForeign)
      extends Change[Boolean]
  case class MirrorCatalog(isShown: Boolean) extends Request[Option[Answers.MirroredCatalog]]
  case class MirrorEntry(relation: RelationReference) extends Request[Option[Answers.MirroredRelation]]

  // Functions

  case class FunctionResource(kind: String, uri: String) extends Record
  case class FunctionDefinition(className: String, resources: Seq[FunctionResource] = Nil) extends Record
  case class ListFunctions(catalog: CatalogReference, namespace: Seq[String]) extends Request[Seq[String]]
  case class LoadFunction(function: RelationReference) extends Request[Option[Answers.FunctionDefinition]]
  case class DefineFunction(function: RelationReference, definition: FunctionDefinition, isNew: Boolean)
      extends Change[Unit]
  case class DropFunction(function: RelationReference) extends Change[Boolean]

  // Materialized views

  case class StoredQuery(
      text: String, currentCatalog: String, currentNamespace: Seq[String], settings: Map[String, String],
      columns: Seq[String] = Nil) extends Record

  /** Asks how a query follows the changes of its tables. */
  case class ExplainQuery(query: StoredQuery, isView: Boolean) extends Request[Answers.ExplainedQuery]
  case class CreateMaterializedView(
      relation: RelationReference, definition: DeclaredTable, query: StoredQuery, ifNotExists: Boolean)
      extends Change[Unit]

  /** A node of a plan; nodes are numbered from the root on, parents before children. */
  case class QueryNode(
      kind: String, parent: Int, source: Option[Int], keys: Int, rounded: Option[String], state: Option[String],
      keyColumns: Seq[Seq[ColumnOrigin]]) extends Record

  /** A column of a table in a plan, by the table's number. */
  case class ColumnOrigin(source: Int, column: String) extends Record

  /** What the planner asks of an analysed query; `sources` are managed tables, of which it uses `columns`. */
  case class QueryFacts(
      schema: String, sources: Seq[TableReference], columns: Seq[Seq[String]],
      options: Seq[Map[String, String]], others: Seq[String],
      functions: Seq[String],
      isDeterministic: Boolean, nodes: Seq[QueryNode], keptKeys: Seq[Int],
      origins: Seq[Seq[ColumnOrigin]], conditions: Seq[ColumnOrigin], plan: String, isLasting: Boolean) extends Record

  // Jobs

  case class StartJob(table: TableReference, insert: StoredQuery, options: Map[String, String], isServer: Boolean)
      extends Request[Answers.StartedJob]
  case class JobTurn(listed: String, isBusy: Boolean, isAsked: Boolean, isDraining: Boolean,
      isRefreshing: Boolean) extends Record
  case class PlanBarrier(jobs: Seq[JobTurn]) extends Request[Answers.PlannedBarrier]
  case class AdvanceJob(
      listed: String, command: String, epoch: Option[String], below: Seq[String],
      lost: Option[String] = None) extends Request[Answers.AdvancedJob]
  case class RefuseStreaming(statement: String, reads: Seq[String] = Nil) extends Request[Unit]

  case class RefreshedView(path: String, error: Option[String]) extends Record
  case class HostJobs(
      catalog: CatalogReference, host: String, jobs: Seq[String], refreshed: Seq[RefreshedView], isLeaving: Boolean)
      extends Change[Answers.HostedWork]

  // Views

  case class ViewDefinition(
      queryText: String, currentCatalog: Option[String], currentNamespace: Seq[String], sqlConfigs: Map[String, String],
      schemaMode: Option[String], queryColumnNames: Seq[String], columns: String,
      properties: Map[String, String]) extends Record
  case class DefineView(relation: RelationReference, view: ViewDefinition, mode: String) extends Change[Unit]
  case class NoteViewColumns(relation: RelationReference, queryText: String, columns: String) extends Change[Unit]
  case class DropView(relation: RelationReference) extends Change[Boolean]
  case class RenameView(relation: RelationReference, to: RelationReference) extends Change[Unit]

  // Procedures and partitions

  case class ListProcedures(catalog: CatalogReference) extends Request[Answers.ProcedureNames]
  case class LoadProcedure(procedure: RelationReference) extends Request[Answers.DescribedProcedure]
  case class CallProcedure(procedure: RelationReference, arguments: Map[String, Option[String]])
      extends Change[Answers.ProcedureResult]
  case class ListPartitions(table: TableReference, partition: Map[String, Option[String]])
      extends Request[Answers.ArrowRows]
  case class LoadPartition(table: TableReference, partition: Map[String, Option[String]])
      extends Request[Map[String, String]]
  case class DropPartitions(table: TableReference, partitions: Seq[Map[String, Option[String]]]) extends Change[Boolean]

  // Reading

  case class AskedScan(
      table: TableReference, columns: Seq[String], schema: String, predicates: Seq[JValue], limit: Option[Int],
      options: Map[String, String], parallelism: Int, answeredRows: Int) extends Record

  /** Asks for the versions that the tables of a statement have at one barrier, by their directories. */
  case class ReadTogether(tables: Seq[TableReference], timestampUs: Option[Long] = None)
      extends Request[Map[String, Answers.PinnedTable]]
  case class PlanScan(scan: AskedScan) extends Request[Answers.PlannedRead]
  case class LeasedRead(table: TableReference, snapshot: Long, execution: String) extends Record
  case class LeaseReads(reads: Seq[LeasedRead], isOver: Boolean) extends Request[Unit]
  case class AggregateFunction(name: String, column: Option[Seq[String]] = None) extends Record
  case class ExactAggregates(
      table: TableReference, functions: Seq[AggregateFunction], options: Map[String, String])
      extends Request[Option[Answers.AggregateRow]]
  case class StatedBound(
      version: Option[String] = None, timestampUs: Option[Long] = None, isInclusive: Boolean) extends Record
  case class LoadChangelog(
      relation: RelationReference, start: Option[StatedBound], end: Option[StatedBound], deduplicationMode: String,
      computeUpdates: Boolean) extends Request[Answers.Changelog]

  // Streams that read

  case class StreamStart(scan: AskedScan) extends Request[String]
  case class StreamLatest(
      scan: AskedScan, start: Option[String] = None, bound: Option[String] = None, isLimited: Boolean = false)
      extends Request[Answers.ReachedOffsets]
  case class PlanStream(scan: AskedScan, start: String, end: String, parallelism: Int)
      extends Request[Seq[Answers.WorkerSplit]]
  case class StreamTask(scan: AskedScan) extends Request[Answers.PythonTask]
  case class StreamLag(scan: AskedScan, start: String) extends Request[Map[String, String]]

  // Writing

  case class Write(
      table: TableReference, mode: String, predicates: Seq[JValue] = Nil, options: Map[String, String],
      command: Option[String] = None, row: Option[Seq[Int]] = None, rowId: Seq[Int] = Nil, upserts: Boolean = false,
      absentKeys: Boolean = false, stream: Option[StreamBatch] = None, onNewest: Boolean = false)
      extends Change[Answers.WrittenRows]
  case class CanAwaitRows(table: TableReference) extends Request[Boolean]
  case class ReplaceRows(table: TableReference, options: Map[String, String]) extends Change[Answers.WrittenRows]
  case class CanDeleteWhere(table: TableReference, predicates: Seq[JValue]) extends Request[Boolean]
  case class DeleteWhere(table: TableReference, predicates: Seq[JValue]) extends Change[Unit]

  // Streams that write

  case class RunningQuery(query: String, run: String, running: Seq[String]) extends Record
  case class StreamBatch(query: RunningQuery, batch: Long, offsets: Map[String, String]) extends Record
  case class StartStreamWrite(
      table: TableReference, query: Option[String], lastOffset: Long, running: Seq[String], outputMode: String)
      extends Request[Map[String, String]]
  case class BeginStreamBatch(
      table: TableReference, stream: StreamBatch, options: Map[String, String], isComplete: Boolean)
      extends Request[Boolean]
  case class RenewStreamWrite(table: TableReference, query: RunningQuery) extends Request[Unit]
  case class EndStreamWrite(table: TableReference, query: RunningQuery) extends Request[Unit]

  // Statements and sessions

  case class Parse(sql: String) extends Request[Answers.ParsedStatement]
  case class RunStatement(command: JValue) extends Change[Answers.ArrowRows]
  case class EndSession() extends Request[Unit]
}
