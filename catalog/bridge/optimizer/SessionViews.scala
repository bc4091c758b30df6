package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical.{View => _, _}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.execution.datasources.v2.{
  DescribeV2ViewExec,
  ShowCreateV2ViewExec,
  ShowV2ViewPropertiesExec
}

/** Supports views if our catalog replaces `spark_catalog`. Spark 4.2 passes statements on views of any catalog of that
  * name to its v1 commands, which do not know our catalog. This rule resolves the views under another catalog name
  * before Spark does. */
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
    case drop @ DropView(name: UnresolvedIdentifier, _)
        if !catalogManager.v1SessionCatalog.isTempView(name.nameParts) =>
      resolved(name).map(child => drop.copy(child = child)).getOrElse(drop)
    case show @ ShowViews(UnresolvedNamespace(CatalogAndNamespace(catalog, namespace), _), _, _) =>
      renamed(catalog).map(inNamespace(show, _, namespace)).getOrElse(show)
    case show @ ShowViews(CurrentNamespace, _, _) =>
      renamed(catalogManager.currentCatalog).map(inNamespace(show, _,
          catalogManager.currentNamespace.toIndexedSeq)).getOrElse(show)
    case _: AlterViewAs | _: AlterViewSchemaBinding | _: SetViewProperties | _: UnsetViewProperties | _: RenameTable |
        _: DescribeRelation | _: DescribeColumn | _: ShowCreateTable | _: ShowTableProperties | _: ShowColumns |
        _: AnalyzeTable =>
      plan.mapChildren {
        case name: UnresolvedView => view(name.multipartIdentifier).getOrElse(name)
        case name: UnresolvedTableOrView => view(name.multipartIdentifier).getOrElse(name)
        case other => other
      }
    case other => other
  }

  private def view(parts: Seq[String]): Option[LogicalPlan] = parts match {
    case _ if catalogManager.v1SessionCatalog.isTempView(parts) => None
    case CatalogAndIdentifier(catalog, ident) => renamed(catalog).flatMap(named =>
        try named.loadRelation(ident) match {
            case view: View => Some(ResolvedPersistentView(named, ident, view))
            case _ => None
          }
        catch { case _: NoSuchTableException => None })
    case _ => None
  }
  private def resolved(name: UnresolvedIdentifier): Option[ResolvedIdentifier] = name.nameParts match {
    case CatalogAndIdentifier(catalog, ident) => renamed(catalog).map(ResolvedIdentifier(_, ident))
    case _ => None
  }
  private def inNamespace(show: ShowViews, named: TableStoreCatalog, namespace: Seq[String]): LogicalPlan =
    show.copy(namespace = ResolvedNamespace(named, namespace))
}

/** Spark's check of the temporary objects that a view names, which would say the other name of the catalog. */
object SessionViewReferences extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = {
    plan match {
      case view: CreateView => check(view.child, view.query)
      case view: AlterViewAs => check(view.child, view.query)
      case _ =>
    }
    plan
  }
  private def check(name: LogicalPlan, query: LogicalPlan): Unit = name match {
    case ResolvedIdentifier(Renamed(catalog), ident) => check(catalog, ident, query)
    case ResolvedPersistentView(Renamed(catalog), ident, _) => check(catalog, ident, query)
    case _ =>
  }
  private def check(catalog: String, ident: Identifier, query: LogicalPlan): Unit =
    if (query.resolved) ViewHelper.verifyTemporaryObjectsNotExists(
      isTemporary = false,
      catalog +: ident.asMultipartIdentifier,
      query,
      AnalysisContext.get.referredTempFunctionNames.toSeq)
}

/** The real name of a catalog that is under another one. */
private object Renamed {
  def unapply(catalog: CatalogPlugin): Option[String] = catalog match {
    case ours: TableStoreCatalog if ours.name != ours.ownName => Some(ours.ownName)
    case _ => None
  }
}

/** Makes statements that show a view's name show the real name of its catalog. */
object SessionViewStrategy extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case DescribeRelation(ResolvedPersistentView(Renamed(catalog), ident, view), isExtended, output) =>
      DescribeV2ViewExec(output, catalog, ident, view, isExtended) :: Nil
    case ShowCreateTable(ResolvedPersistentView(Renamed(catalog), ident, view), _, output) =>
      ShowCreateV2ViewExec(output, quoted(catalog, ident), view) :: Nil
    case ShowTableProperties(ResolvedPersistentView(Renamed(catalog), ident, view), key, output) =>
      ShowV2ViewPropertiesExec(output, quoted(catalog, ident), view, key) :: Nil
    case _ => Nil
  }
  private def quoted(catalog: String, ident: Identifier): String = (catalog +: ident.asMultipartIdentifier).quoted
}
