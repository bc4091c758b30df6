package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.{classic, SparkSession}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.analysis.{NoSuchTableException, ResolvedNamespace}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, ShowTablesExtended}
import org.apache.spark.sql.catalyst.util.{quoteIfNeeded, StringUtils}
import org.apache.spark.sql.connector.catalog.{CatalogV2Util, Relation, Table, TableCatalog, View}
import org.apache.spark.sql.connector.catalog.CatalogV2Implicits._
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.unsafe.types.UTF8String

/** `SHOW TABLE EXTENDED … LIKE` of our catalog. Spark's own (4.2) leaves out the views of a catalog, and writes a comma
  * behind each letter of the properties. */
class ExtendedListing(session: SparkSession) extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case ShowTablesExtended(ResolvedNamespace(catalog: TableStoreCatalog, namespace, _), pattern, output) =>
      LocalTableScanExec(output, stored(catalog, namespace.toArray, pattern) ++ temporary(namespace, pattern), None) ::
        Nil
    case _ => Nil
  }

  /** Tables and views by name. One that is dropped meanwhile is left out. */
  private def stored(catalog: TableStoreCatalog, namespace: Array[String], pattern: String): Seq[InternalRow] = {
    val found = (catalog.listTables(namespace) ++ catalog.listViews(namespace)).distinctBy(_.name).sortBy(_.name)
    val wanted = StringUtils.filterPattern(found.toSeq.map(_.name), pattern).toSet
    found.toSeq.filter(ident => wanted(ident.name)).flatMap { ident =>
      try {
        val relation = catalog.loadRelation(ident)
        val lines = Seq("Catalog" -> catalog.name, "Namespace" -> namespace.toSeq.quoted, "Table" -> ident.name) ++
          told(relation) :+ "Schema" -> CatalogV2Util.v2ColumnsToStructType(relation.columns).treeString
        Some(row(namespace.toSeq.quoted, ident.name, isTemporary = false,
            lines.map { case (name, value) => s"$name: $value" }.mkString("", "\n", "\n")))
      } catch { case _: NoSuchTableException => None }
    }
  }

  private def told(relation: Relation): Seq[(String, String)] = relation match {
    case view: View =>
      val columns = view.queryColumnNames.toSeq
      Seq("Type" -> "VIEW") ++ common(view) ++ Seq("View Text" -> view.queryText) ++
        Option(view.currentCatalog).map(current =>
          "View Catalog and Namespace" -> (current +: view.currentNamespace.toSeq).quoted) ++
        Option.when(columns.nonEmpty)(
          "View Query Output Columns" -> columns.map(quoteIfNeeded).mkString("[", ", ", "]"))
    case other =>
      val table = other.asInstanceOf[Table]
      val kind = if (table.properties.containsKey(TableCatalog.PROP_EXTERNAL)) "EXTERNAL" else "MANAGED"
      val partitions = table.partitioning.toSeq.map(_.describe)
      ("Type" -> kind) +: (common(table) ++
        Option.when(partitions.nonEmpty)("Partition Columns" -> partitions.mkString("[", ", ", "]")))
  }

  /** What has a line of its own in DESCRIBE, and all other properties in one. */
  private def common(relation: Relation): Seq[(String, String)] = {
    val (reserved, others) =
      relation.properties.asScala.toSeq.sorted.partition(CatalogV2Util.TABLE_RESERVED_PROPERTIES contains _._1)
    val shown = session.asInstanceOf[classic.SparkSession].sessionState.conf.redactOptions(others.toMap).toSeq.sorted
    reserved.collect { case (name, value) if !kinds(name) => name.capitalize -> value } ++
      Option.when(shown.nonEmpty)(
        "Table Properties" -> shown.map { case (name, value) => s"$name=$value" }.mkString("[", ", ", "]"))
  }

  private val kinds = Set(TableCatalog.PROP_EXTERNAL, TableCatalog.PROP_TABLE_TYPE)

  private def temporary(namespace: Seq[String], pattern: String): Seq[InternalRow] =
    session.asInstanceOf[classic.SparkSession].sessionState.catalog
      .listTempViews(namespace.mkString("."), pattern)
      .map(view =>
        row(view.identifier.database.getOrElse(""), view.identifier.table, isTemporary = true,
          s"${view.simpleString}\n"))

  private def row(namespace: String, name: String, isTemporary: Boolean, told: String): InternalRow = InternalRow(
    UTF8String.fromString(namespace), UTF8String.fromString(name), isTemporary, UTF8String.fromString(told))
}
