package org.apache.spark.sql.tablestore

import java.util.Locale

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.UnresolvedIdentifier
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, CatalogV2Util, LookupCatalog}
import org.apache.spark.sql.execution.datasources.{CreateTable => CreateV1Table}
import org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat

/** The data source that the shipped `spark.sql.sources.default` names, by its package. For files it is Spark's own
  * Parquet, so that `load(path)` and `save(path)` work as always. In our catalog the name means a managed table; it
  * tells a `saveAsTable` without a format from one with the format `parquet`. */
class DefaultSource extends ParquetFileFormat

/** Replaces that name by `parquet`, Spark's usual default, in statements on other catalogs. */
class DefaultSourceElsewhere(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  private val state = session.asInstanceOf[classic.SparkSession].sessionState
  override protected lazy val catalogManager: CatalogManager = state.catalogManager
  private val ours = classOf[DefaultSource].getPackageName
  private def isDefault(provider: String): Boolean = provider.toLowerCase(Locale.ROOT) == ours

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create: V2CreateTablePlan => create.name match {
        case UnresolvedIdentifier(CatalogAndIdentifier(catalog, table), _)
            if !catalog.isInstanceOf[TableStoreCatalog] =>
          create.asInstanceOf[LogicalPlan].transformExpressions {
            case spec: UnresolvedTableSpec if spec.provider.exists(_.equalsIgnoreCase(TableStoreFormat.name)) =>
              throw Errors.notOfFormat(table.toString, s"of the catalog ${catalog.name}")
            case spec: UnresolvedTableSpec if becomesDefault(catalog, spec) => spec.copy(provider = Some("parquet"))
          }
        case _ => plan
      }
    case create @ CreateV1Table(table, _, _) if table.provider.exists(isDefault) =>
      create.copy(tableDesc = table.copy(provider = Some("parquet")))
    case other => other
  }

  /** Whether the table would get our default: the session catalog uses the default if a statement names no format. */
  private def becomesDefault(catalog: CatalogPlugin, spec: UnresolvedTableSpec): Boolean = spec.provider match {
    case Some(provider) => isDefault(provider)
    case None =>
      CatalogV2Util.isSessionCatalog(catalog) && spec.serde.isEmpty && isDefault(state.conf.defaultDataSourceName)
  }
}
