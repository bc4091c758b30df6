package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier
import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.catalyst.plans.logical.{CreateMaterializedViewAsSelect, LogicalPlan}
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.execution.datasources.v2.{LeafV2CommandExec, V2CommandExec}
import org.apache.spark.sql.types.StructType

/** Runs CREATE MATERIALIZED VIEW in our catalogs. Spark itself refuses to execute it, but in its pipelines. */
class MaterializedViews(session: SparkSession) extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case create: CreateMaterializedViewAsSelect => create.name match {
        case ResolvedIdentifier(catalog: TableStoreCatalog, ident) =>
          CreateMaterializedViewExec(catalog, ident, create) :: Nil
        case _ => Nil
      }
    case _ => Nil
  }
}

case class CreateMaterializedViewExec(catalog: TableStoreCatalog, ident: Identifier,
    create: CreateMaterializedViewAsSelect) extends V2CommandExec with LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = s"CreateMaterializedView ${catalog.ownName}.$ident"
  override def innerChildren: Seq[LogicalPlan] = create.query +: rules
  private lazy val rules =
    QueryRules.explained(session, create.originalText, create.origin, isView = true)
  override protected def stringArgs: Iterator[Any] = Iterator(s"${catalog.ownName}.$ident")

  override protected def run(): Seq[InternalRow] = {
    val active = session.asInstanceOf[classic.SparkSession]
    // The plan that is executed has no views any more, whose names tell temporary ones.
    ViewHelper.verifyTemporaryObjectsNotExists(
      isTemporary = false,
      catalog.ownName +: ident.namespace.toSeq :+ ident.name,
      StreamingStatements.anyMode(active.sql(create.originalText).queryExecution.analyzed),
      Nil
    )
    catalog.createMaterializedView(
      ident,
      StoredQueries.of(active, create.originalText).copy(columns = create.query.schema.fieldNames.toSeq),
      Requests.DeclaredTable(
        columns.json,
        create.partitioning.map(Json.transform),
        create.tableSpec.properties.view.mapValues(SealedSecrets.opened).toMap ++ create.tableSpec.comment.map(
          "comment" -> _) ++
          create.tableSpec.provider.map("provider" -> _) ++ create.tableSpec.location.map("location" -> _),
        Nil
      ),
      create.ifNotExists
    )
    Nil
  }

  /** The columns of the query, with names and comments that the statement declares. */
  private def columns: StructType = {
    val found = create.query.schema.asNullable
    if (create.columns.isEmpty) found
    else if (create.columns.map(_.dataType) != found.fields.map(_.dataType).toSeq)
      throw Errors.declaredColumns(create.columns.map(column => s"${column.name} ${column.dataType.sql}"), found)
    else StructType(create.columns.zip(found.fields).map { case (column, field) =>
      column.comment.foldLeft(field.copy(name = column.name))(_.withComment(_))
    })
  }
}
