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

/** A MERGE by key that writes each row of its source as a whole, whether the target has the key or not, such as `WHEN
  * MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *`. The newest row of a key wins, so the target is not read.
  *
  * This holds only if the source has each key once. Whether a duplicate key is allowed depends on the target. */
object MergeUpserts {

  /** The rows to be written, in the columns of the statement's query; None if the MERGE is not of this kind. */
  def rows(query: LogicalPlan, projections: WriteDeltaProjections): Option[LogicalPlan] = query match {
    // This pattern excludes conditions on the target alone, which would be between the target and the join.
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
        // For a matched row, the key columns can be replaced by the source's expressions.
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

  /** Columns of the target with the expressions they must equal; None if the condition has any other term. */
  def equalities(condition: Expression, target: AttributeSet): Option[Seq[(Attribute, Expression)]] =
    condition match {
      case And(left, right) =>
        for { one <- equalities(left, target); more <- equalities(right, target) } yield one ++ more
      case EqualTo(part: Attribute, value) if target.contains(part) => Some(Seq(part -> value))
      case EqualTo(value, part: Attribute) if target.contains(part) => Some(Seq(part -> value))
      case _ => None
    }

  /** An expression without its checks for NULL, and without its name. */
  def plain(value: Expression): Expression = value match {
    case Alias(child, _) => plain(child)
    case other => other.transform { case AssertNotNull(inner, _) => inner }
  }

  /** Whether values that Spark considers equal are the same key for storage; not so signed zeros and collated texts. */
  def isComparedAsStored(part: Attribute): Boolean = part.dataType match {
    case FloatType | DoubleType => false
    case text: StringType => text.isUTF8BinaryCollation
    case _ => true
  }
}
