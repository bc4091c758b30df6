package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.util.CharVarcharUtils.replaceCharVarcharWithString
import org.apache.spark.sql.connector.catalog.{Column, ColumnDefaultValue}
import org.apache.spark.sql.connector.catalog.CatalogV2Util.structTypeToV2Columns
import org.apache.spark.sql.connector.expressions.LiteralValue
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.StructType

/** Columns of tables as Spark's catalogs have them, with the values of their defaults. */
object V2Columns {

  /** Columns and the session's settings, such as its time zone, which decide the values of their defaults. */
  private case class Defaults(columns: StructType, settings: Map[String, String])

  /** Of tables with 10,000 columns in all. Spark analyses a default in about 0.1 ms, as a query of its own, and a query
    * loads each of its tables. */
  private val known = new BoundedCache[Defaults, Seq[Column]](10000, _.size)

  def of(columns: StructType): Array[Column] =
    if (columns.forall(_.getCurrentDefaultValue().isEmpty)) structTypeToV2Columns(columns)
    else known.getOrMake(Defaults(columns, SQLConf.get.getAllConfs)) {
      structTypeToV2Columns(columns).toSeq.map(withReadableDefault)
    }.toArray

  /** Spark 4.2 has a text of each default for those files that lack the column, and makes one that it cannot parse from
    * a CHAR or VARCHAR: `'ab')`. The same value as a STRING becomes `'ab'`. */
  private def withReadableDefault(column: Column): Column = {
    val default = column.defaultValue
    val plain = replaceCharVarcharWithString(column.dataType)
    if (default == null || default.getValue == null || plain == column.dataType) column
    else Column.builderFrom(column)
      .defaultValue(new ColumnDefaultValue(
          default.getSql, default.getExpression, LiteralValue(default.getValue.value, plain)))
      .build()
  }
}
