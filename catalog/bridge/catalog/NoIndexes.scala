package org.apache.spark.sql.tablestore

import java.util

import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.util.QuotingUtils.quoteNameParts
import org.apache.spark.sql.connector.catalog.index.{SupportsIndex, TableIndex}
import org.apache.spark.sql.connector.expressions.NamedReference

/** Answers CREATE INDEX and DROP INDEX, which Spark refuses with a trace and without a condition: files are sorted by
  * the primary key and know their smallest and greatest values, and that is all the index there is. */
trait NoIndexes extends SupportsIndex {
  private type Properties = util.Map[String, String]

  override def createIndex(name: String, columns: Array[NamedReference],
      columnProperties: util.Map[NamedReference, Properties], properties: Properties): Unit = refuse("CREATE INDEX")
  override def dropIndex(name: String): Unit = refuse("DROP INDEX")
  override def indexExists(name: String): Boolean = false
  override def listIndexes(): Array[TableIndex] = Array.empty

  private def refuse(operation: String): Unit = throw new AnalysisException(
    "UNSUPPORTED_FEATURE.TABLE_OPERATION",
    Map("tableName" -> quoteNameParts(name().split('.').toSeq), "operation" -> operation))
}
