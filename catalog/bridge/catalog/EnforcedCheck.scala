package org.apache.spark.sql.tablestore

import org.apache.spark.sql.connector.catalog.constraints.Constraint
import org.apache.spark.sql.connector.catalog.constraints.Constraint.ValidationStatus

/** A CHECK constraint of a managed table as DESCRIBE shows it.
  *
  * It is not Spark's own `Check`, for which Spark would filter the query of each write: where that filter stands it does
  * not see computed columns, it takes deleted rows for new ones, and it is pushed below joins, to rows that are never
  * written. [[CheckedRows]] enforces it. */
class EnforcedCheck(definition: Answers.CheckConstraint) extends Constraint {
  override def name(): String = definition.name
  def condition: String = definition.condition
  override def enforced(): Boolean = true
  override def validationStatus(): ValidationStatus =
    if (definition.isVerified) ValidationStatus.VALID else ValidationStatus.UNVALIDATED
  override def rely(): Boolean = false
  override def toDDL(): String = s"CONSTRAINT $name ${toDescription()} $validationStatus NORELY"
  override def toDescription(): String = s"CHECK ($condition) ENFORCED"
  override def toString: String = toDDL()
}
