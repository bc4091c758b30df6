package org.apache.spark.sql.tablestore

import java.io.ByteArrayInputStream
import java.util.Base64

import com.fasterxml.jackson.core.{JsonFactoryBuilder, StreamReadConstraints}
import com.fasterxml.jackson.databind.{DeserializationFeature, ObjectMapper}
import com.github.luben.zstd.ZstdInputStream

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection
import org.apache.spark.sql.catalyst.util.GeneratedColumn.GENERATION_EXPRESSION_METADATA_KEY
import org.apache.spark.sql.connector.catalog.{Column, TableChange}
import org.apache.spark.sql.connector.catalog.CatalogV2Util.v2ColumnsToStructType
import org.apache.spark.sql.connector.catalog.constraints.{Check, Constraint, PrimaryKey}
import org.apache.spark.sql.connector.expressions.{
  BucketTransform,
  Expression,
  Expressions,
  FieldReference,
  Literal,
  NamedReference,
  Transform
}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.execution.arrow.ArrowConverters
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{DataType, MetadataBuilder, StructType}
import org.json4s._
import org.json4s.JsonDSL._
import org.json4s.jackson.{Json4sScalaModule, JsonMethods}

/** Converts Spark's values to JSON and back literally; the planner interprets them. */
object Json {

  /** The planner's answers may have any length, because rows can have many MB. */
  private val methods = new JsonMethods {
    override lazy val mapper: ObjectMapper = {
      val limits = StreamReadConstraints.builder().maxStringLength(Int.MaxValue).build()
      val unlimited = new ObjectMapper(new JsonFactoryBuilder().streamReadConstraints(limits).build())
      unlimited.registerModule(new Json4sScalaModule)
      unlimited.configure(DeserializationFeature.USE_BIG_INTEGER_FOR_INTS, true)
    }
  }
  def parse(answer: String): JValue = methods.parse(answer)

  /** Columns as JSON, with the expressions of generated columns, which Spark's own conversion leaves out. */
  def columns(columns: Array[Column]): String = {
    InvalidText.refuseDefaults(columns)
    StructType(v2ColumnsToStructType(columns).zip(columns).map {
      case (field, column) if column.generationExpression != null =>
        field.copy(metadata = new MetadataBuilder()
          .withMetadata(field.metadata).putString(GENERATION_EXPRESSION_METADATA_KEY,
            column.generationExpression).build())
      case (field, _) => field
    }).json
  }

  def struct(json: String): StructType = DataType.fromJson(json).asInstanceOf[StructType]

  def transform(transform: Transform): Requests.PartitionTransform = {
    val columns = transform.references.toSeq.map(_.fieldNames.toSeq)
    transform match {
      case BucketTransform(count, _, _) => Requests.PartitionTransform(transform.name, columns, Some(count))
      case _ => Requests.PartitionTransform(transform.name, columns)
    }
  }

  def identity(column: String): Transform = Expressions.identity(FieldReference.column(column).describe)

  def constraint(constraint: Constraint): Requests.DeclaredConstraint = constraint match {
    case key: PrimaryKey =>
      Requests.DeclaredConstraint("primary key", key.name, key.columns.toSeq.map(_.fieldNames.toSeq))
    case check: Check => Requests.DeclaredConstraint("check", check.name, condition = Option(check.predicateSql))
    case check: EnforcedCheck => Requests.DeclaredConstraint("check", check.name, condition = Some(check.condition))
    case other => Requests.DeclaredConstraint(other.toDDL, other.name)
  }

  def primaryKey(key: Answers.KeyConstraint): Constraint =
    Constraint.primaryKey(key.name, key.columns.map(name => FieldReference.column(name): NamedReference).toArray)
      .enforced(false).build()

  def expression(expression: Expression): JValue = expression match {
    case OneOf(column, values) => ("name" -> "IN") ~ ("children" -> List(Json.expression(column))) ~
        ("values" -> values.map(text)) ~ ("type" -> values.head.dataType.json)
    // The conditions TRUE and FALSE are literals, too.
    case predicate: Predicate => ("name" -> predicate.name) ~
        ("children" -> predicate.children.toList.map(Json.expression))
    case literal: Literal[_] if isText(literal) =>
      ("literal" -> text(literal)) ~ ("type" -> literal.dataType.json)
    case reference: NamedReference => "column" -> reference.fieldNames.toList
    case other => "opaque" -> other.describe
  }

  /** Spark evaluates a condition on a text that JSON cannot hold. */
  private def isText(literal: Literal[_]): Boolean = !InvalidText.isIn(literal.value, literal.dataType)

  private def text(literal: Literal[_]): JValue =
    Option(literal.value).map(_.toString).map(JString(_)).getOrElse(JNull)

  /** A condition that something is one of values of one type, which may be thousands. */
  private object OneOf {
    def unapply(expression: Expression): Option[(Expression, List[Literal[_]])] = expression match {
      case in: Predicate if in.name == "IN" =>
        val values = in.children.toList.tail.collect { case literal: Literal[_] => literal }
        val isOfOneType = values.map(_.dataType).distinct.size == 1
        if (isOfOneType && values.forall(isText) && values.size == in.children.length - 1)
          Some(in.children.head -> values)
        else None
      case _ => None
    }
  }

  def change(change: TableChange): JObject = change match {
    case c: TableChange.SetProperty => ("change" -> "set_property") ~ ("key" -> c.property) ~
        ("value" -> SealedSecrets.opened(c.value))
    case c: TableChange.RemoveProperty => ("change" -> "remove_property") ~ ("key" -> c.property)
    case c: TableChange.AddColumn =>
      val column = Column.create(c.fieldNames.last, c.dataType, c.isNullable, c.comment, c.defaultValue, null)
      // Older rows have the default's value, which Spark writes as text in the time zone of its settings.
      val described = StoredExpression("", Map.empty).under(SQLConf.get)(columns(Array(column)))
      ("change" -> "add_column") ~ ("path" -> c.fieldNames.toList) ~
        ("column" -> described) ~ ("position" -> position(c.position))
    case c: TableChange.RenameColumn =>
      ("change" -> "rename_column") ~ ("path" -> c.fieldNames.toList) ~ ("name" -> c.newName)
    case c: TableChange.UpdateColumnType =>
      ("change" -> "update_type") ~ ("path" -> c.fieldNames.toList) ~ ("type" -> c.newDataType.json)
    case c: TableChange.UpdateColumnNullability =>
      ("change" -> "update_nullability") ~ ("path" -> c.fieldNames.toList) ~ ("nullable" -> c.nullable)
    case c: TableChange.UpdateColumnComment =>
      ("change" -> "update_comment") ~ ("path" -> c.fieldNames.toList) ~ ("comment" -> c.newComment)
    case c: TableChange.UpdateColumnPosition =>
      ("change" -> "update_position") ~ ("path" -> c.fieldNames.toList) ~ ("position" -> position(c.position))
    case c: TableChange.UpdateColumnDefaultValue =>
      ("change" -> "update_default") ~ ("path" -> c.fieldNames.toList) ~
        ("default" -> Option(c.newCurrentDefault).map(_.getSql))
    case c: TableChange.DeleteColumn =>
      ("change" -> "drop_column") ~ ("path" -> c.fieldNames.toList) ~ ("ifExists" -> c.ifExists.booleanValue)
    case c: TableChange.AddConstraint =>
      ("change" -> "add_constraint") ~ ("constraint" -> constraint(c.constraint).toJson)
    case c: TableChange.DropConstraint =>
      ("change" -> "drop_constraint") ~ ("name" -> c.name) ~ ("ifExists" -> c.ifExists)
    case other => "change" -> other.toString
  }

  private def position(position: TableChange.ColumnPosition): JValue = position match {
    case null => JNull
    case after: TableChange.After => "after" -> after.column
    case _ => JString("first")
  }

  /** The rows of an answer, decoded from its Arrow streams. */
  def rows(answer: Answers.ArrowRows): Array[InternalRow] = {
    val (rows, schema) = ArrowConverters.fromIPCStream(streams(answer))
    // The `copy` of a columnar row fails if a map or an array has a NULL number.
    val unsafe = UnsafeProjection.create(schema)
    try rows.map(row => unsafe(row).copy(): InternalRow).toArray
    finally rows.close()
  }

  /** Calls `use` for each row of an answer; the row is invalid afterwards. One stream is in memory at a time. */
  def eachRow(answer: Answers.ArrowRows)(use: InternalRow => Unit): Unit = {
    val (rows, _) = ArrowConverters.fromIPCStream(streams(answer))
    try rows.foreach(use)
    finally rows.close()
  }

  private def streams(answer: Answers.ArrowRows): Iterator[Array[Byte]] = answer.arrow.iterator.map { text =>
    val sent = Base64.getDecoder.decode(text)
    if (answer.isCompressed) new ZstdInputStream(new ByteArrayInputStream(sent)).readAllBytes else sent
  }
}
