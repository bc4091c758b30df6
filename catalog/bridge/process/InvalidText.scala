package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.connector.catalog.Column
import org.apache.spark.sql.connector.expressions.{Expression, Literal}
import org.apache.spark.sql.types.{ArrayType, DataType, MapType, StructType}
import org.apache.spark.unsafe.types.UTF8String

/** Texts that are not UTF-8: they cannot be stored, and JSON and SQL text cannot hold them. */
object InvalidText {

  /** Whether a value of Catalyst is, or holds, such a text. */
  def isIn(value: Any, dataType: DataType): Boolean = (value, dataType) match {
    case (text: UTF8String, _) => !text.isValid
    case (elements: ArrayData, array: ArrayType) => isIn(elements, array.elementType)
    case (entries: MapData, map: MapType) =>
      isIn(entries.keyArray(), map.keyType) || isIn(entries.valueArray(), map.valueType)
    case (row: InternalRow, struct: StructType) => struct.fields.zipWithIndex.exists { case (field, place) =>
        !row.isNullAt(place) && isIn(row.get(place, field.dataType), field.dataType)
      }
    case _ => false
  }

  /** Whether a literal of a condition is, or holds, such a text. */
  def isIn(expression: Expression): Boolean = expression match {
    case literal: Literal[_] => isIn(literal.value, literal.dataType)
    case other => other.children.exists(isIn)
  }

  private def isIn(elements: ArrayData, dataType: DataType): Boolean =
    elements.toObjectArray(dataType).exists(isIn(_: Any, dataType))

  /** @throws TableStoreException a default has such a text. */
  def refuseDefaults(columns: Array[Column]): Unit = columns.foreach { column =>
    val default = Option(column.defaultValue).flatMap(default => Option(default.getValue))
    if (default.exists(literal => isIn(literal.value: Any, literal.dataType)))
      throw Errors.invalidDefault(column.name, column.defaultValue.getSql)
  }
}
