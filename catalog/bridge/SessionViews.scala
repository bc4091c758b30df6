package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis.{CurrentNamespace, ResolvedIdentifier, ResolvedNamespace, UnresolvedIdentifier, UnresolvedNamespace}
import org.apache.spark.sql.catalyst.plans.logical.{CreateView, DropView, LogicalPlan, ShowViews}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog.{CatalogManager, CatalogPlugin, CatalogV2Util, LookupCatalog}

/** Views where our catalog stands in place of `spark_catalog`: by the name alone Spark 4.2 gives CREATE, DROP and SHOW
  * VIEWS of that catalog to its v1 commands, which know nothing of it. They are named otherwise before Spark looks. */
class SessionViews(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  override protected lazy val catalogManager: CatalogManager =
    session.asInstanceOf[classic.SparkSession].sessionState.catalogManager
  private lazy val ours: Option[TableStoreCatalog] = catalogManager.v2SessionCatalog match {
    case catalog: TableStoreCatalog => Some(catalog.underAnotherName)
    case _ => None
  }
  private def renamed(catalog: CatalogPlugin): Option[TableStoreCatalog] =
    if (CatalogV2Util.isSessionCatalog(catalog)) ours else None

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case create @ CreateView(name: UnresolvedIdentifier, _, _, _, _, _, _, _, _, _, _, _) =>
      resolved(name).map(child => create.copy(child = child)).getOrElse(create)
    case drop @ DropView(name: UnresolvedIdentifier, _) if !catalogManager.v1SessionCatalog.isTempView(name.nameParts) =>
      resolved(name).map(child => drop.copy(child = child)).getOrElse(drop)
    case show @ ShowViews(UnresolvedNamespace(CatalogAndNamespace(catalog, namespace), _), _, _) =>
      renamed(catalog).map(inNamespace(show, _, namespace)).getOrElse(show)
    case show @ ShowViews(CurrentNamespace, _, _) =>
      renamed(catalogManager.currentCatalog).map(inNamespace(show, _, catalogManager.currentNamespace)).getOrElse(show)
    case other => other
  }

  private def resolved(name: UnresolvedIdentifier): Option[ResolvedIdentifier] = name.nameParts match {
    case CatalogAndIdentifier(catalog, ident) => renamed(catalog).map(ResolvedIdentifier(_, ident))
    case _ => None
  }
  private def inNamespace(show: ShowViews, named: TableStoreCatalog, namespace: Seq[String]): LogicalPlan =
    show.copy(namespace = ResolvedNamespace(named, namespace))
}
