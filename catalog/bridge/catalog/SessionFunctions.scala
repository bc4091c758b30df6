package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.{FunctionIdentifier, InternalRow}
import org.apache.spark.sql.catalyst.analysis.NoSuchFunctionException
import org.apache.spark.sql.catalyst.expressions.Murmur3HashFunction
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.{CatalogManager, FunctionCatalog, Identifier}
import org.apache.spark.sql.connector.catalog.functions.{BoundFunction, ScalarFunction, UnboundFunction}
import org.apache.spark.sql.execution.datasources.v2.V2SessionCatalog
import org.apache.spark.sql.types.{DataType, IntegerType, StringType, StructType}

/** The function with which Spark computes a row's bucket; it serves plans only, so no statement finds it by name. In
  * place of `spark_catalog` also the persistent functions of Spark's session catalog. */
trait SessionFunctions extends FunctionCatalog {
  private def state = SparkSession.active.sessionState

  /** Spark's own catalog of functions, if this one stands in its place. */
  private def functions: Option[V2SessionCatalog] =
    if (StoredSessionCatalog.isBelow(name(), SparkSession.active)) Some(new V2SessionCatalog(state.catalog)) else None

  override def listFunctions(namespace: Array[String]): Array[Identifier] =
    functions.map(_.listFunctions(namespace)).getOrElse(Array.empty)
  override def functionExists(ident: Identifier): Boolean = functions.exists(_.functionExists(ident))
  override def loadFunction(ident: Identifier): UnboundFunction =
    if (ident.namespace.isEmpty && ident.name == "bucket") UnboundBucket
    else functions.map { found =>
      // What this session has registered may have been replaced or dropped by another one.
      state.catalog.unregisterFunction(
        FunctionIdentifier(ident.name, ident.namespace.headOption, Some(CatalogManager.SESSION_CATALOG_NAME)))
      found.loadFunction(ident)
    }.getOrElse(throw new NoSuchFunctionException(ident))
}

private object UnboundBucket extends UnboundFunction {
  override def name(): String = "bucket"
  override def description(): String = "bucket(count, key): pmod(hash(key), count)"
  override def bind(input: StructType): BoundFunction = input.map(_.dataType) match {
    case Seq(IntegerType, text: StringType) if !text.isUTF8BinaryCollation =>
      throw new UnsupportedOperationException("Equal texts of such a collation may be in different buckets.")
    case Seq(IntegerType, key) => Bucket(key)
    case _ => throw new UnsupportedOperationException(description())
  }
}

/** The canonical name contains the key's type, because the hashes of 1 as INT and as BIGINT differ. */
private case class Bucket(key: DataType) extends ScalarFunction[Int] {
  override def inputTypes(): Array[DataType] = Array(IntegerType, key)
  override def resultType(): DataType = IntegerType
  override def name(): String = "bucket"
  override def canonicalName(): String = s"table_store.bucket(${key.catalogString})"
  override def produceResult(row: InternalRow): Int =
    Math.floorMod(Murmur3HashFunction.hash(row.get(1, key), key, 42L).toInt, row.getInt(0))
}
