package org.apache.spark.sql.tablestore

import java.lang.reflect.InvocationTargetException

import scala.annotation.implicitNotFound
import scala.reflect.ClassTag

import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s._

/** Reads values of a type from JSON. */
@implicitNotFound("no JSON stands for a ${T}")
trait Form[T] {
  def read(json: JValue): T
}

/** A value read from a JSON object; the keys are the names of its members. */
abstract class Answer(json: JValue) {

  /** The value of a key. A missing value, or one of another type, is a mismatch between Scala and Python. */
  protected def member[T](key: String)(implicit form: Form[T]): T =
    try form.read(json \ key)
    catch { case wrong: Form.Wrong => throw wrong.of(s"${getClass.getSimpleName}.$key") }
}

object Form {

  /** The planner's JSON does not have the expected form; the message shows no values. */
  class Wrong(expected: String, path: String = "") extends IllegalStateException(s"$path: expected $expected".trim) {
    def of(key: String): Wrong = new Wrong(expected, s"$key $path".trim)
  }
  private def of[T](expected: String)(read: PartialFunction[JValue, T]): Form[T] = json =>
    read.applyOrElse(json, (_: JValue) => throw new Wrong(expected))

  /** One of several types; the key `kind` names it. */
  private def oneOf[T](kinds: (String, Form[_ <: T])*): Form[T] = {
    val forms = kinds.toMap
    json =>
      json \ "kind" match {
        case JString(kind) if forms.contains(kind) => forms(kind).read(json)
        case _ => throw new Wrong(forms.keys.mkString(" or "))
      }
  }
  private def kind[T <: Answer](implicit tag: ClassTag[T]): (String, Form[T]) =
    tag.runtimeClass.getSimpleName -> answer[T]

  implicit val json: Form[JValue] = value => value
  implicit val unit: Form[Unit] = _ => ()
  implicit val string: Form[String] = of("a string") { case JString(text) => text }
  implicit val boolean: Form[Boolean] = of("a boolean") { case JBool(value) => value }
  implicit val long: Form[Long] = of("an integer") { case JInt(number) => number.toLong; case JLong(number) => number }
  implicit val int: Form[Int] = value => long.read(value).toInt
  implicit val struct: Form[StructType] = value => DataType.fromJson(string.read(value)).asInstanceOf[StructType]
  implicit def option[T](implicit form: Form[T]): Form[Option[T]] = value => value.toOption.map(form.read)
  implicit def seq[T](implicit form: Form[T]): Form[Seq[T]] = of("an array") { case JArray(values) =>
    values.map(form.read)
  }
  implicit def map[T](implicit form: Form[T]): Form[Map[String, T]] = of("an object") { case JObject(fields) =>
    fields.map { case (key, value) => key -> form.read(value) }.toMap
  }

  /** Passes the JSON object to the constructor of `T`. */
  implicit def answer[T <: Answer](implicit tag: ClassTag[T]): Form[T] = {
    val make = tag.runtimeClass.getConstructor(classOf[JValue])
    json =>
      try make.newInstance(json).asInstanceOf[T]
      catch { case failed: InvocationTargetException => throw failed.getCause }
  }

  import Answers._
  implicit val loadedTable: Form[LoadedTable] =
    oneOf(kind[DescribedTable], kind[ForeignDefinition])
  implicit val loadedRelation: Form[LoadedRelation] =
    oneOf(kind[DescribedTable], kind[ForeignDefinition], kind[ViewDefinition])
  implicit val createdTable: Form[CreatedTable] = oneOf(kind[DescribedTable], kind[ForeignPlace])
  implicit val plannedRead: Form[PlannedRead] = oneOf(kind[PlannedScan], kind[ArrowRows])
  implicit val parsedStatement: Form[ParsedStatement] = oneOf(kind[SparkStatement], kind[PlannedCommand])
}

/** The planner's answers. `catalog/planner/protocol` has the same values in Python, and a test compares both. */
object Answers {

  // Answers that are one of several types

  sealed trait LoadedRelation
  sealed trait LoadedTable extends LoadedRelation
  sealed trait CreatedTable
  sealed trait PlannedRead
  sealed trait ParsedStatement

  // Rows and tasks

  class ArrowRows(json: JValue) extends Answer(json) with PlannedRead {
    val arrow = member[Seq[String]]("arrow")
    val isCompressed = member[Boolean]("isCompressed")
  }
  class PythonTask(json: JValue) extends Answer(json) {
    val python = member[String]("python")
    val pythonVersion = member[String]("pythonVersion")
    val environment = member[Map[String, String]]("environment")
    val function = member[String]("function")
  }

  // Tables

  class KeyConstraint(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val columns = member[Seq[String]]("columns")
  }
  class CheckConstraint(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val condition = member[String]("condition")
    val isVerified = member[Boolean]("isVerified")
  }
  class MetadataColumn(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val `type` = member[String]("type")
    val nullable = member[Boolean]("nullable")
  }

  /** `handle` is sent back with every request about the table, and is opaque to the bridge. */
  class DescribedTable(json: JValue) extends Answer(json) with LoadedTable with CreatedTable {
    val name = member[String]("name")
    val version = member[Option[String]]("version")
    val columns = member[StructType]("columns")
    val computed = member[StructType]("computed")
    val partitions = member[Seq[String]]("partitions")
    val properties = member[Map[String, String]]("properties")
    val constraints = member[Seq[KeyConstraint]]("constraints")
    val checks = member[Seq[CheckConstraint]]("checks")
    val capabilities = member[Seq[String]]("capabilities")
    val metadataColumns = member[Seq[MetadataColumn]]("metadataColumns")
    val rowId = member[Seq[String]]("rowId")
    val isExternal = member[Boolean]("isExternal")
    val isReadBySpark = member[Boolean]("isReadBySpark")
    val isStream = member[Boolean]("isStream")
    val handle = member[JValue]("handle")

    /** The same columns, read as they were at another version; before the first one there are no rows. */
    def at(version: Option[String]): DescribedTable = {
      val described = set(json, Seq("version"), version.map(JString(_)))
      new DescribedTable(set(described, Seq("handle", "snapshotId"), version.map(text => JInt(BigInt(text)))))
    }
    private def set(value: JValue, path: Seq[String], to: Option[JValue]): JValue = value match {
      case JObject(fields) =>
        val (rest, old) = fields.partition(_._1 != path.head)
        val changed = if (path.size == 1) to else old.headOption.map { case (_, inner) => set(inner, path.tail, to) }
        JObject(rest ++ changed.map(path.head -> _))
      case other => other
    }
  }
  class ForeignDefinition(json: JValue) extends Answer(json) with LoadedTable {
    val provider = member[String]("provider")
    val columns = member[String]("columns")
    val partitionColumns = member[Seq[String]]("partitionColumns")
    val location = member[Option[String]]("location")
    val comment = member[Option[String]]("comment")
    val properties = member[Map[String, String]]("properties")
    val sessionEntry = member[Option[String]]("sessionEntry")
  }
  class SparkRead(json: JValue) extends Answer(json) {
    val format = member[String]("format")
    val options = member[Map[String, String]]("options")
    val secret = member[Seq[String]]("secret")
  }
  class StreamRange(json: JValue) extends Answer(json) {
    val identity = member[String]("identity")
    val format = member[String]("format")
    val options = member[Map[String, String]]("options")
    val secret = member[Seq[String]]("secret")
    val checkpoint = member[String]("checkpoint")
    val start = member[Option[String]]("start")
    val end = member[Option[String]]("end")
  }
  class FunctionResource(json: JValue) extends Answer(json) {
    val kind = member[String]("kind")
    val uri = member[String]("uri")
  }
  class FunctionDefinition(json: JValue) extends Answer(json) {
    val className = member[String]("className")
    val resources = member[Seq[FunctionResource]]("resources")
  }
  class ForeignPlace(json: JValue) extends Answer(json) with CreatedTable {
    val folder = member[String]("folder")
    val replaced = member[Option[ForeignDefinition]]("replaced")
  }
  class ViewDefinition(json: JValue) extends Answer(json) with LoadedRelation {
    val queryText = member[String]("queryText")
    val currentCatalog = member[Option[String]]("currentCatalog")
    val currentNamespace = member[Seq[String]]("currentNamespace")
    val sqlConfigs = member[Map[String, String]]("sqlConfigs")
    val schemaMode = member[Option[String]]("schemaMode")
    val queryColumnNames = member[Seq[String]]("queryColumnNames")
    val columns = member[String]("columns")
    val properties = member[Map[String, String]]("properties")
  }
  class MirroredRelation(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val isView = member[Boolean]("isView")
    val columns = member[StructType]("columns")
    val comment = member[Option[String]]("comment")
  }
  class MirroredNamespace(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val relations = member[Seq[MirroredRelation]]("relations")
    val gone = member[Seq[String]]("gone")
  }
  class MirroredCatalog(json: JValue) extends Answer(json) {
    val catalog = member[String]("catalog")
    val isWhole = member[Boolean]("isWhole")
    val namespaces = member[Seq[MirroredNamespace]]("namespaces")
  }

  // Jobs

  /** `listed` is sent back with every request about the job, and is opaque to the bridge. */
  class StartedJob(json: JValue) extends Answer(json) {
    val id = member[String]("id")
    val name = member[String]("name")
    val commitUser = member[String]("commitUser")
    val listed = member[String]("listed")
    val waits = member[Boolean]("waits")
    val isTemporary = member[Boolean]("isTemporary")
    val isHosted = member[Boolean]("isHosted")
  }
  class TakenTurn(json: JValue) extends Answer(json) {
    val job = member[String]("job")
    val listed = member[String]("listed")
    val epoch = member[Option[String]]("epoch")
    val after = member[Seq[String]]("after")
  }
  class PlannedBarrier(json: JValue) extends Answer(json) {
    val taken = member[Seq[TakenTurn]]("taken")
    val pauseMs = member[Long]("pauseMs")
  }
  class AdvancedJob(json: JValue) extends Answer(json) {
    val listed = member[String]("listed")
    val isOver = member[Boolean]("isOver")
    val hasFailed = member[Boolean]("hasFailed")
    val error = member[Option[String]]("error")
  }

  class ToldJob(json: JValue) extends Answer(json) {
    val job = member[String]("job")
    val command = member[String]("command")
    val reason = member[Option[String]]("reason")
  }
  class DueView(json: JValue) extends Answer(json) {
    val path = member[String]("path")
    val statement = member[String]("statement")
  }

  /** `host` is sent back with the next request, and is opaque to the bridge. */
  class HostedWork(json: JValue) extends Answer(json) {
    val host = member[String]("host")
    val isHost = member[Boolean]("isHost")
    val start = member[Seq[StartedJob]]("start")
    val tell = member[Seq[ToldJob]]("tell")
    val refresh = member[Seq[DueView]]("refresh")
  }

  // Procedures

  class ProcedureNames(json: JValue) extends Answer(json) {
    val namespace = member[String]("namespace")
    val names = member[Seq[String]]("names")
  }
  class ProcedureParameter(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val `type` = member[String]("type")
    val default = member[Option[String]]("default")
    val description = member[String]("description")
  }
  class DescribedProcedure(json: JValue) extends Answer(json) {
    val description = member[String]("description")
    val parameters = member[Seq[ProcedureParameter]]("parameters")
  }
  class ProcedureResult(json: JValue) extends Answer(json) {
    val schema = member[StructType]("schema")
    val rows = member[ArrowRows]("rows")
  }

  // Jobs

  class ExplainedNode(json: JValue) extends Answer(json) {
    val parent = member[Int]("parent")
    val text = member[String]("text")
  }
  class ExplainedQuery(json: JValue) extends Answer(json) {
    val nodes = member[Seq[ExplainedNode]]("nodes")
  }

  // What the planner has kept

  class StoredQuery(json: JValue) extends Answer(json) {
    val text = member[String]("text")
    val currentCatalog = member[String]("currentCatalog")
    val currentNamespace = member[Seq[String]]("currentNamespace")
    val settings = member[Map[String, String]]("settings")
    val columns = member[Seq[String]]("columns")
  }

  // Reading

  class PinnedTable(json: JValue) extends Answer(json) {
    val version = member[String]("version")
    val barrier = member[Long]("barrier")
  }
  class Changelog(json: JValue) extends Answer(json) {
    val name = member[String]("name")
    val columns = member[StructType]("columns")
    val handle = member[JValue]("handle")
  }
  class AggregateRow(json: JValue) extends Answer(json) {
    val schema = member[StructType]("schema")
    val rows = member[ArrowRows]("rows")
  }
  class RawSplits(json: JValue) extends Answer(json) {
    val root = member[String]("root")
    val parts = member[ArrowRows]("parts")
  }
  class WorkerSplit(json: JValue) extends Answer(json) {
    val bucket = member[Int]("bucket")
    val payload = member[String]("payload")
    val live = member[Option[String]]("live")
  }
  class BucketedBy(json: JValue) extends Answer(json) {
    val column = member[String]("column")
    val buckets = member[Int]("buckets")
  }
  class LiveRows(json: JValue) extends Answer(json) {
    val atFirst = member[Boolean]("atFirst")
    val task = member[PythonTask]("task")
  }
  class PlannedScan(json: JValue) extends Answer(json) with PlannedRead {
    val snapshot = member[Option[Long]]("snapshot")
    val raw = member[Option[RawSplits]]("raw")
    val splits = member[Seq[WorkerSplit]]("splits")
    val files = member[Int]("files")
    val rows = member[Long]("rows")
    val sizeBytes = member[Long]("sizeBytes")
    val bucketedBy = member[Option[BucketedBy]]("bucketedBy")
    val live = member[Option[LiveRows]]("live")
    val task = member[Option[PythonTask]]("task")
  }
  class ReachedOffsets(json: JValue) extends Answer(json) {
    val latest = member[String]("latest")
    val end = member[Option[String]]("end")
  }

  // Writing

  class WrittenRows(json: JValue) extends Answer(json) {
    val rows = member[Long]("rows")
    val deletes = member[Long]("deletes")
    val files = member[Long]("files")
    val sizeBytes = member[Long]("sizeBytes")
    val spilledBytes = member[Long]("spilledBytes")
    val sortNs = member[Long]("sortNs")
    val encodeNs = member[Long]("encodeNs")
    val commitNs = member[Long]("commitNs")
    val compactNs = member[Long]("compactNs")
  }

  // Statements

  class SparkStatement(json: JValue) extends Answer(json) with ParsedStatement {
    val sql = member[String]("sql")
  }
  class PlannedCommand(json: JValue) extends Answer(json) with ParsedStatement {
    val name = member[String]("name")
    val command = member[JValue]("command")
    val schema = member[StructType]("schema")
    val before = member[Option[String]]("before")
  }
  class Failure(json: JValue) extends Answer(json) {
    val condition = member[String]("condition")
    val message = member[String]("message")
    val sqlState = member[String]("sqlState")
  }
}
