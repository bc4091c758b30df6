package org.apache.spark.sql.tablestore

import java.util.{HashSet => JavaHashSet}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.expressions.{Expression, InSet}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}

/** Whether a value is among those of many keys, none of which is NULL or NaN.
  *
  * As `InSet` it goes down to tables. That one's own text has all values, sorted, and Spark makes it for each state of a
  * plan and searches it for secrets; and few of them would be part of the code, which is compiled anew for others.
  */
class AmongKeys(child: Expression, keys: Set[Any]) extends InSet(child, keys) {

  override def toString: String = s"$child among ${keys.size} keys"
  override def simpleString(maxFields: Int): String = toString

  override def doGenCode(ctx: CodegenContext, ev: ExprCode): ExprCode = {
    val known = ctx.addReferenceObj("keys", new JavaHashSet[Any](keys.asJava))
    nullSafeCodeGen(ctx, ev, value => s"${ev.value} = $known.contains($value);")
  }

  override protected def withNewChildInternal(newChild: Expression): AmongKeys = new AmongKeys(newChild, keys)
}
