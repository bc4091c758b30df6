package org.apache.spark.sql.tablestore

import java.util.Locale

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, CatalogV2Util, LookupCatalog}
import org.apache.spark.sql.execution.datasources.{CreateTable => CreateV1Table}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** What `spark.sql.sources.default` names as shipped, by the name of its package: Spark's own Parquet for files, so that
  * `load(path)` and `save(path)` do as ever. To our catalog the name means a managed table: it is how `saveAsTable` of a
  * DataFrame whose writer was told no format can be told from one that was told `parquet`. */
class DefaultSource extends ParquetFileFormat

/** Keeps that name out of every other catalog: there the default is Parquet, as it is in Spark. */
class DefaultSourceElsewhere(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  private val state = session.asInstanceOf[classic.SparkSession].sessionState
  override protected lazy val catalogManager: CatalogManager = state.catalogManager
  private val ours = classOf[DefaultSource].getPackageName
  private def isDefault(provider: String): Boolean = provider.toLowerCase(Locale.ROOT) == ours

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create: V2CreateTablePlan => create.name match {
        case UnresolvedIdentifier(CatalogAndIdentifier(catalog, _), _) if !catalog.isInstanceOf[TableStoreCatalog] =>
          create.asInstanceOf[LogicalPlan].transformExpressions {
            case spec: UnresolvedTableSpec if becomesDefault(catalog, spec) => spec.copy(provider = Some("parquet"))
          }
        case _ => plan
      }
    case create @ CreateV1Table(table, _, _) if table.provider.exists(isDefault) =>
      create.copy(tableDesc = table.copy(provider = Some("parquet")))
    case other => other
  }

  /** Where a statement names no format, the session catalog takes the default's. */
  private def becomesDefault(catalog: CatalogPlugin, spec: UnresolvedTableSpec): Boolean = spec.provider match {
    case Some(provider) => isDefault(provider)
    case None =>
      CatalogV2Util.isSessionCatalog(catalog) && spec.serde.isEmpty && isDefault(state.conf.defaultDataSourceName)
  }
}
