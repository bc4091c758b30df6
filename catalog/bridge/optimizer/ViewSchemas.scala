package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{SchemaEvolution, SchemaTypeEvolution}
import org.apache.spark.sql.catalyst.catalog.CatalogTable
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, View}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.util.CharVarcharUtils
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogV2Util, Identifier}
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.SchemaUtils

/** Gives views WITH SCHEMA EVOLUTION or TYPE EVOLUTION the columns that their query has now. Spark 4.2 checks this
  * afterwards (ViewSyncSchemaToMetaStore); it would itself record new columns in its v1 session catalog only. */
class ViewSchemas(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val catalogManager: CatalogManager =
    session.asInstanceOf[classic.SparkSession].sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan.resolveOperatorsUp {
    case view @ View(desc, false, query, _) if query.resolved =>
      newSchema(desc, query.schema) match {
        case Some(schema) if isNoted(desc, schema) => view.copy(desc = desc.copy(schema = schema))
        case _ => view
      }
  }

  /** The view's new schema as Spark's check expects it; TYPE EVOLUTION keeps names, comments and number of columns. */
  private def newSchema(desc: CatalogTable, query: StructType): Option[StructType] = desc.viewSchemaMode match {
    case SchemaEvolution =>
      val isSame = query.length == desc.schema.length && query.zip(desc.schema).forall {
        case (one, other) =>
          isSameType((one, other)) && one.name == other.name && one.getComment() == other.getComment()
      }
      if (!isSame) SchemaUtils.checkColumnNameDuplication(query.fieldNames.toIndexedSeq, conf.resolver)
      Some(query).filterNot(_ => isSame)
    case SchemaTypeEvolution if query.length == desc.schema.length && !query.zip(desc.schema).forall(isSameType) =>
      Some(StructType(query.map(field =>
            desc.schema.fields.find(_.name == field.name)
              .fold(field)(known => field.copy(metadata = known.metadata)))))
    case _ => None
  }
  private val isSameType: ((StructField, StructField)) => Boolean = {
    case (one, other) => one.dataType == other.dataType && one.nullable == other.nullable
  }

  /** Records the new schema in our catalog; false if the view is not one of ours. */
  private def isNoted(desc: CatalogTable, schema: StructType): Boolean =
    desc.identifier.catalog.map(catalogManager.catalog) match {
      case Some(catalog: TableStoreCatalog) =>
        val plain = CharVarcharUtils.getRawSchema(schema, conf).map { field =>
          val bare = StructField(field.name, field.dataType, field.nullable)
          field.getComment().fold(bare)(bare.withComment)
        }
        catalog.noteViewColumns(
          Identifier.of(desc.identifier.database.toArray, desc.identifier.table),
          desc.viewText.getOrElse(""),
          CatalogV2Util.structTypeToV2Columns(StructType(plain))
        )
        true
      case _ => false
    }
}
