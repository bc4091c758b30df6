package org.apache.spark.sql.tablestore

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{CreateStruct, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.expressions.objects.Invoke
import org.apache.spark.sql.types.BinaryType

/** The bytes of a VARIANT, by which [[difference.py]] tells values apart: Spark neither groups nor compares variants, and
  * as texts 1 and "1" are alike. */
object VariantBytes {
  private val name = "__variant_bytes"

  def inject(extensions: SparkSessionExtensions): Unit =
    extensions.injectFunction((FunctionIdentifier(name), new ExpressionInfo(getClass.getName, name), of))

  private def of(arguments: Seq[Expression]): Expression =
    CreateStruct(Seq("getValue", "getMetadata").map(Invoke(arguments.head, _, BinaryType)))
}
