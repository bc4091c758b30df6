package org.apache.spark.sql.tablestore

import java.util
import java.util.{Locale, Optional}

import org.apache.spark.sql.catalyst.analysis.NoSuchTableException
import org.apache.spark.sql.catalyst.parser.ParseException
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog._
import org.apache.spark.sql.connector.expressions.Transform
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.sources.DataSourceRegister
import org.apache.spark.sql.types.StructType
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** Our tables as a format: `format("table_store")` is what `USING table_store` is in SQL, and `load` and `save` take a
  * table's name where other formats take a path. Everything is done by the table that the catalog loads. */
class TableStoreFormat extends SupportsCatalogOptions with DataSourceRegister {
  override def shortName(): String = TableStoreFormat.name

  override def extractIdentifier(options: CaseInsensitiveStringMap): Identifier = {
    val (catalog, table) = named(options)
    try refuseOthers(table, catalog.loadRelation(table))
    catch { case _: NoSuchTableException => () } // `save` will make it
    table
  }
  override def extractCatalog(options: CaseInsensitiveStringMap): String = named(options)._1.ownName
  override def extractTimeTravelVersion(options: CaseInsensitiveStringMap): Optional[String] =
    Optional.ofNullable(options.get(SQLConf.get.getConf(SQLConf.TIME_TRAVEL_VERSION_KEY)))
  override def extractTimeTravelTimestamp(options: CaseInsensitiveStringMap): Optional[String] =
    Optional.ofNullable(options.get(SQLConf.get.getConf(SQLConf.TIME_TRAVEL_TIMESTAMP_KEY)))

  /** A stream asks for columns and table, where a batch asks the catalog. */
  override def inferSchema(options: CaseInsensitiveStringMap): StructType =
    CatalogV2Util.v2ColumnsToStructType(load(options).columns)
  override def getTable(schema: StructType, partitions: Array[Transform], options: util.Map[String, String]): Table =
    load(new CaseInsensitiveStringMap(options))

  private def load(options: CaseInsensitiveStringMap): Table = {
    val (catalog, table) = named(options)
    val found = catalog.loadTable(table)
    refuseOthers(table, found)
    found
  }
  private def refuseOthers(name: Identifier, found: Relation): Unit =
    if (!found.isInstanceOf[ManagedTable])
      throw Errors.notOfFormat(name.toString, "a view, or a table of another format")

  private def named(options: CaseInsensitiveStringMap): (TableStoreCatalog, Identifier) = {
    val said = Option(options.get("path")).getOrElse("")
    val names = new LookupCatalog {
      override protected val catalogManager: CatalogManager = classic.SparkSession.active.sessionState.catalogManager
    }
    TableStoreFormat.parsed(said) match {
      case Some(names.CatalogAndIdentifier(catalog: TableStoreCatalog, table)) => (catalog, table)
      case Some(names.CatalogAndIdentifier(catalog, table)) =>
        throw Errors.notOfFormat(table.toString, s"of the catalog ${catalog.name}")
      case _ => throw Errors.noTableName(said)
    }
  }
}

object TableStoreFormat {
  val name = "table_store"

  /** What a `save` says, without the table's name that it gives as a path: Spark passes that on as an option of the
    * write, and as LOCATION of a table to make. */
  def withoutName(said: Map[String, String], table: Identifier): Map[String, String] = said.filterNot {
    case (key, value) => places(key.toLowerCase(Locale.ROOT)) && parsed(value).exists(_.last == table.name)
  }
  private val places = Set("path", TableCatalog.PROP_LOCATION, TableCatalog.OPTION_PREFIX + "path")

  private def parsed(said: String): Option[Seq[String]] =
    try Some(classic.SparkSession.active.sessionState.sqlParser.parseMultipartIdentifier(said))
    catch { case _: ParseException => None }
}
