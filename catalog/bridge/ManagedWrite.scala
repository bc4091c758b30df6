package org.apache.spark.sql.tablestore

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.ProjectingInternalRow
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.datasources.v2.{LeafV2CommandExec, V2CommandExec}
import org.json4s._
import org.json4s.JsonDSL._

/** What is to be written and how; rows never pass through it: [[WriteStrategy]] gives the planner the whole query. */
case class ManagedWrite(table: String, request: JObject) extends DeltaWrite {
  override def description(): String = s"TableStoreWrite $table"
}

class ManagedWriteBuilder(handle: JObject, table: String, info: LogicalWriteInfo)
    extends WriteBuilder with SupportsOverwriteV2 with SupportsDynamicOverwrite {
  private var mode: JObject = "mode" -> "append"
  override def overwrite(predicates: Array[Predicate]): WriteBuilder = {
    mode = ("mode" -> "overwrite") ~ ("predicates" -> predicates.toList.map(Json.expression))
    this
  }
  override def truncate(): WriteBuilder = overwrite(Array.empty)
  override def overwriteDynamicPartitions(): WriteBuilder = { mode = "mode" -> "overwrite_dynamic"; this }
  override def build(): Write = ManagedWrite(table, handle ~ mode ~
    ("options" -> Json.strings(info.options.asCaseSensitiveMap)))
}

class ManagedDeltaWriteBuilder(handle: JObject, table: String, command: String, info: LogicalWriteInfo)
    extends DeltaWriteBuilder {
  override def build(): DeltaWrite = ManagedWrite(table, handle ~ ("mode" -> "delta") ~ ("command" -> command) ~
    ("options" -> Json.strings(info.options.asCaseSensitiveMap)))
}

class WriteStrategy(session: SparkSession) extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case command: AppendData => planned(command, command.write, command.query, JObject())
    case command: OverwriteByExpression => planned(command, command.write, command.query, JObject())
    case command: OverwritePartitionsDynamic => planned(command, command.write, command.query, JObject())
    case command: WriteDelta => planned(command, command.write, command.query,
      ("row" -> command.projections.rowProjection.map(ordinals)) ~ ("rowId" -> ordinals(command.projections.rowIdProjection)))
    case _ => Nil
  }
  private def ordinals(projection: ProjectingInternalRow): List[Int] = projection.colOrdinals.toList
  private def planned(command: V2WriteCommand, write: Option[Write], query: LogicalPlan, extra: JObject): Seq[SparkPlan] =
    write match {
      case Some(ManagedWrite(table, request)) => WriteExec(table, request ~ extra, query, command.table) :: Nil
      case _ => Nil
    }
}

/** Hands the query as a DataFrame to the planner, which runs and commits it. */
case class WriteExec(table: String, request: JObject, query: LogicalPlan, target: LogicalPlan)
    extends V2CommandExec with LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = s"TableStoreWrite $table"
  override protected def run(): Seq[InternalRow] = {
    val active = session.asInstanceOf[classic.SparkSession]
    PlannerProcess.ask("write", request, classic.Dataset.ofRows(active, query), repeatable = false)
    active.sharedState.cacheManager.recacheByPlan(active, target)
    Nil
  }
}
