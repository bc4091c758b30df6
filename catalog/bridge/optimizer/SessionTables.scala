package org.apache.spark.sql.tablestore

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog

/** Makes statements on tables `USING parquet`, … Spark's own where our catalog replaces `spark_catalog`. Spark 4.2
  * takes its v1 commands for a catalog that extends its own, so this rule resolves such tables under one that does. */
class SessionTables(session: SparkSession) extends Rule[LogicalPlan] with LookupCatalog {
  private lazy val state = session.asInstanceOf[classic.SparkSession].sessionState
  override protected lazy val catalogManager: CatalogManager = state.catalogManager
  private lazy val sparks: TableCatalog = {
    val catalog = new DelegatingCatalogExtension {
      override def toString: String = delegate.toString // as plans show it
    }
    catalog.setDelegateCatalog(new V2SessionCatalog(state.catalog))
    catalog
  }

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    // A name is changed on storage, and the catalog looks at the folder.
    case _: RenameTable | SetTableLocation(_, None, _) => plan
    case _: Command if isReplaced =>
      plan.mapChildren {
        case name: UnresolvedTable => table(name.multipartIdentifier).getOrElse(name)
        case name: UnresolvedTableOrView => table(name.multipartIdentifier).getOrElse(name)
        case other => other
      }
    case other => other
  }
  private def isReplaced: Boolean = catalogManager.v2SessionCatalog.isInstanceOf[TableStoreCatalog]

  private def table(parts: Seq[String]): Option[LogicalPlan] = parts match {
    case _ if catalogManager.v1SessionCatalog.isTempView(parts) => None
    case CatalogAndIdentifier(catalog: TableStoreCatalog, ident) if CatalogV2Util.isSessionCatalog(catalog) =>
      try catalog.loadTable(ident) match {
          case spark: V1Table => Some(ResolvedTable.create(sparks, ident, spark))
          case _ => None
        }
      catch { case _: NoSuchTableException => None }
    case _ => None
  }
}

/** Names given by `IDENTIFIER(…)` as Spark resolves them, but before the rules that look at the names of statements. */
object IdentifierClauses extends Rule[LogicalPlan] {
  override def apply(plan: LogicalPlan): LogicalPlan = plan.mapChildren {
    case clause: PlanWithUnresolvedIdentifier if clause.identifierExpr.resolved && clause.childrenResolved =>
      clause.planBuilder(IdentifierResolution.evalIdentifierExpr(clause.identifierExpr), clause.children)
    case other => other
  }
}
