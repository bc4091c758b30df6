package org.apache.spark.sql.tablestore

import scala.util.Try

import org.apache.spark.sql.catalyst.expressions.{Cast, Expression, Literal, UnaryMinus}
import org.apache.spark.sql.catalyst.parser.CatalystSqlParser
import org.apache.spark.sql.catalyst.util.CharVarcharUtils.replaceCharVarcharWithString
import org.apache.spark.sql.catalyst.util.ResolveDefaultColumns
import org.apache.spark.sql.connector.catalog.{Column, ColumnDefaultValue}
import org.apache.spark.sql.connector.catalog.CatalogV2Util.structTypeToV2Columns
import org.apache.spark.sql.connector.expressions.LiteralValue
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

/** Columns of tables as Spark's catalogs have them, with the values of their defaults. */
object V2Columns {

  /** 10,000 columns whose defaults have one value. Spark analyses a default in about 0.1 ms, as a query of its own, and
    * a query loads each of its tables. */
  private val known = new BoundedCache[StructField, Column](10000, _ => 1)

  def of(columns: StructType): Array[Column] =
    if (columns.forall(_.getCurrentDefaultValue().isEmpty)) plain(columns)
    else columns.map { column =>
      (column.getCurrentDefaultValue(), StoredExpressions.settingsOf(column)) match {
        case (Some(text), Some(settings)) =>
          known.get(column).getOrElse(withValue(column, StoredExpression(text, settings)))
        case _ => withReadableDefault(plain(StructType(Seq(column))).head)
      }
    }.toArray

  private def plain(columns: StructType): Array[Column] =
    structTypeToV2Columns(StructType(columns.map(StoredExpressions.withoutSettings)))

  /** A column with the value that its default has now. Spark takes it where it would parse the text under the settings of
    * the session; it still parses the text of a default that fails. */
  private def withValue(column: StructField, default: StoredExpression): Column = default.under(SQLConf.get) {
    val made = plain(StructType(Seq(column))).head
    val kind = replaceCharVarcharWithString(column.dataType)
    val value = Try(LiteralValue(ResolveDefaultColumns.analyze(column, "INSERT").eval(), kind))
    val result = Column.builderFrom(made)
      .defaultValue(new ColumnDefaultValue(default.text, value.getOrElse(null), LiteralValue(null, kind)))
      .build()
    if (value.isSuccess && isOfLiterals(CatalystSqlParser.parseExpression(default.text))) known.put(column, result)
    result
  }

  private def isOfLiterals(expression: Expression): Boolean = expression match {
    case _: Literal => true
    case _: Cast | _: UnaryMinus => expression.children.forall(isOfLiterals)
    case _ => false
  }

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
