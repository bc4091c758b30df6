package org.apache.spark.sql.tablestore

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.Literal.TrueLiteral
import org.apache.spark.sql.catalyst.expressions.objects.AssertNotNull
import org.apache.spark.sql.catalyst.plans.RightOuter
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.plans.logical.MergeRows.{Insert, Keep, Update}
import org.apache.spark.sql.catalyst.util.WriteDeltaProjections
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.types.{DoubleType, FloatType, StringType}

/** A MERGE by key that writes each row of its source whole, whether the target has the key or not, as `WHEN MATCHED THEN
  * UPDATE SET * WHEN NOT MATCHED THEN INSERT *` does: the newest row of a key counts, and nothing of the target is read.
  *
  * That is so for keys that the source has once. Whether it may have one twice, only the target can tell. */
object MergeUpserts {

  /** What is to be written, in the columns of the statement's query. */
  def rows(query: LogicalPlan, projections: WriteDeltaProjections): Option[LogicalPlan] = query match {
    // Conditions on the target alone would stand between it and the join.
    case MergeRows(_, _, Seq(Keep(Update, TrueLiteral, updated)), Seq(Keep(Insert, TrueLiteral, inserted)), Seq(), _,
          output,
          Join(Project(_, target: DataSourceV2ScanRelation), source, RightOuter, Some(condition), _)) =>
      val ids = projections.rowIdProjection
      val key = ids.colOrdinals.map(updated).collect { case part: Attribute if isComparedAsStored(part) => part }
      for {
        row <- projections.rowProjection
        terms <- equalities(condition, target.outputSet)
        if key.size == ids.colOrdinals.size && terms.size == key.size && AttributeSet(terms.map(_._1)) == AttributeSet(
          key)
        met = AttributeMap(terms)
        // Of a row that is met, the key is known from the source.
        isSameRow = row.colOrdinals.forall { i =>
          val value = plain(updated(i)).transform { case part: Attribute => met.getOrElse(part, part) }
          value.references.subsetOf(source.outputSet) && value.semanticEquals(plain(inserted(i)))
        }
        written = row.schema.fieldNames.zip(row.colOrdinals.map(i => plain(inserted(i)))).toMap
        isSameKey = ids.schema.fieldNames.zip(key).forall { case (name, part) =>
          written(name).semanticEquals(met(part))
        }
        if isSameRow && isSameKey
      } yield Project(inserted.zip(output).map { case (value, column) => Alias(value, column.name)(column.exprId) },
        source)
    case _ => None
  }

  /** What columns of the target are to be equal to; None where the condition says anything else. */
  private def equalities(condition: Expression, target: AttributeSet): Option[Seq[(Attribute, Expression)]] =
    condition match {
      case And(left, right) =>
        for { one <- equalities(left, target); more <- equalities(right, target) } yield one ++ more
      case EqualTo(part: Attribute, value) if target.contains(part) => Some(Seq(part -> value))
      case EqualTo(value, part: Attribute) if target.contains(part) => Some(Seq(part -> value))
      case _ => None
    }

  private def plain(value: Expression): Expression = value.transform { case AssertNotNull(inner, _) => inner }

  /** Where values that are equal for Spark are one key for storage: not so zeros with a sign, nor collated texts. */
  private def isComparedAsStored(part: Attribute): Boolean = part.dataType match {
    case FloatType | DoubleType => false
    case text: StringType => text.isUTF8BinaryCollation
    case _ => true
  }
}
