package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{ResolvedNamespace, UnresolvedNamespace}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ShowTables}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.CatalogManager.SESSION_CATALOG_NAME
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.v2.ShowTablesExec
import org.apache.spark.unsafe.types.UTF8String

/** `spark.catalog.listTables(database)` looks into `spark_catalog` first, and each session has a `default` there. If
  * our catalog is the current one, this rule makes the call look into ours. The call is recognized by having no SQL
  * text, so `SHOW TABLES IN spark_catalog.default` is left as it is. */
class CatalogListing(session: SparkSession) extends Rule[LogicalPlan] {
  private lazy val manager = session.asInstanceOf[classic.SparkSession].sessionState.catalogManager

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case show @ ShowTables(name @ UnresolvedNamespace(Seq(SESSION_CATALOG_NAME, database), _), _, _)
        if CatalogListing.isCall(show) && isOurs(database) =>
      show.copy(namespace = name.copy(multipartIdentifier = Seq(manager.currentCatalog.name, database)))
    case other => other
  }
  private def isOurs(database: String): Boolean = manager.currentCatalog match {
    case catalog: TableStoreCatalog => catalog.namespaceExists(Array(database))
    case _ => false
  }
}

object CatalogListing {
  def isCall(plan: LogicalPlan): Boolean = plan.origin.sqlText.isEmpty
}

/** Makes `listTables` of our catalog also list the session's temporary views, as it does for `spark_catalog`. */
class CatalogListingStrategy(session: SparkSession) extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case show @ ShowTables(ResolvedNamespace(catalog: TableStoreCatalog, namespace, _), pattern, output)
        if CatalogListing.isCall(show) =>
      val views =
        session.asInstanceOf[classic.SparkSession].sessionState.catalog.listLocalTempViews(pattern.getOrElse("*"))
      val rows = ShowTablesExec(output, catalog, namespace, pattern).executeCollect().toSeq ++
        views.map(view => InternalRow(UTF8String.fromString(""), UTF8String.fromString(view.table), true))
      LocalTableScanExec(output, rows, None) :: Nil
    case _ => Nil
  }
}
