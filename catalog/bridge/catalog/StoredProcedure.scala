package org.apache.spark.sql.tablestore

import java.util

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.connector.catalog.procedures.{BoundProcedure, ProcedureParameter, UnboundProcedure}
import org.apache.spark.sql.connector.read.{LocalScan, Scan}
import org.apache.spark.sql.types.{DataType, StructType}

class StoredProcedure(procedure: Requests.RelationReference, definition: Answers.DescribedProcedure)
    extends UnboundProcedure
    with BoundProcedure {
  override def name(): String = procedure.name
  override def description(): String = definition.description
  override def bind(inputType: StructType): BoundProcedure = this
  override def isDeterministic: Boolean = false
  override val parameters: Array[ProcedureParameter] = definition.parameters.map { parameter =>
    val builder = ProcedureParameter.in(parameter.name, DataType.fromJson(parameter.`type`))
      .comment(parameter.description)
    parameter.default.foreach(builder.defaultValue(_: String))
    builder.build()
  }.toArray

  override def call(input: InternalRow): util.Iterator[Scan] = {
    val arguments = parameters.zipWithIndex.map { case (parameter, i) =>
      val value = if (input.isNullAt(i)) null else input.get(i, parameter.dataType)
      parameter.name -> Option(value).map(_.toString)
    }
    val answer = PlannerProcess.ask(Requests.CallProcedure(procedure, arguments.toMap))
    val result = new LocalScan {
      override def readSchema(): StructType = answer.schema
      override def rows(): Array[InternalRow] = Json.rows(answer.rows)
    }
    util.List.of[Scan](result).iterator()
  }
}
