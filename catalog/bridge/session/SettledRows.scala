package org.apache.spark.sql.tablestore

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan, Project}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.types._
import org.apache.spark.unsafe.types.UTF8String

/** Rows that are computed once: few of them are held in the driver, where most work on them takes no Spark job.
  *
  * @param heldMax
  *   most rows of a frame that are held
  */
class SettledRows(session: classic.SparkSession, heldMax: Int) {
  private val persisted = mutable.Buffer.empty[classic.DataFrame]

  def frameOf(plan: LogicalPlan): classic.DataFrame = session.withActive(classic.Dataset.ofRows(session, plan))

  /** The same rows, held in the driver if they are few, else kept by Spark until [[release]]. */
  def of(frame: classic.DataFrame): classic.DataFrame = inDriver(frame).getOrElse {
    val kept = frameOf(WriteQuery.withKnownRows(frame.queryExecution.optimizedPlan))
    persisted += kept.persist()
    kept
  }

  /** The same rows in the driver; None if they are many. */
  def inDriver(frame: classic.DataFrame): Option[classic.DataFrame] = frame.queryExecution.analyzed match {
    case few: LocalRelation if few.data.size <= heldMax => Some(frame)
    case analyzed => DriverQuery.folded(analyzed) match {
        case few: LocalRelation if few.data.size <= heldMax => Some(local(few.output, few.data))
        case _ => evaluated(WriteQuery.withKnownRows(frame.queryExecution.optimizedPlan))
      }
  }
  private def evaluated(known: LogicalPlan): Option[classic.DataFrame] = known match {
    case few: LocalRelation if few.data.size <= heldMax => Some(local(few.output, few.data))
    case _ => DriverQuery.rows(session, known, heldMax).orElse(computed(known)).map(local(known.output, _))
  }

  /** The rows of a plan for which it takes a Spark job; None if they are many. */
  private def computed(known: LogicalPlan): Option[Seq[InternalRow]] = {
    val first = classic.Dataset.ofRows(session, known).limit(heldMax + 1).queryExecution
    val rows = SQLExecution.withNewExecutionId(first, Some("changes"))(first.executedPlan.executeCollect())
    if (rows.length <= heldMax) Some(rows.toSeq) else None
  }

  def local(output: Seq[Attribute], rows: Seq[InternalRow]): classic.DataFrame =
    classic.Dataset.ofRows(session, LocalRelation(output, rows))

  /** The different rows of settled frames. */
  def union(frames: Seq[classic.DataFrame]): classic.DataFrame = {
    val known = frames.map(SettledRows.held)
    if (known.contains(None)) of(frames.reduce(_ union _).distinct())
    else
      local(known.head.get.output, known.flatten.flatMap(rows => SettledRows.binary(rows, rows.output.size)).distinct)
  }

  /** The sum of bags, each of which adds its rows (1) or takes them away (-1), as [[difference.py]] describes it; None
    * if it takes Spark to add them up. A frame with one more column than `names` has the weights of its rows there. */
  def sum(parts: Seq[(classic.DataFrame, Int)], names: Seq[String], kind: String): Option[classic.DataFrame] = {
    val found = parts.map { case (frame, sign) => SettledRows.held(of(frame)) -> sign }
    val known = found.collect { case (Some(rows), sign) => rows -> sign }
    val isBinary = known.forall(_._1.output.take(names.size).forall(column => SettledRows.isBinary(column.dataType)))
    if (known.size < found.size || !isBinary) None
    else {
      val weights = mutable.LinkedHashMap.empty[UnsafeRow, Int]
      for ((rows, sign) <- known) {
        val isWeighted = rows.output.size > names.size
        for ((row, whole) <- SettledRows.binary(rows, names.size).zip(rows.data)) {
          val weight = if (isWeighted) sign * whole.getInt(names.size) else sign
          weights.updateWith(row)(before => Some(before.getOrElse(0) + weight).filter(_ != 0))
        }
      }
      val output = known.head._1.output.zip(names).map { case (column, name) =>
        AttributeReference(name, column.dataType)()
      } :+ AttributeReference(kind, StringType)()
      val (insert, delete) = (UTF8String.fromString("insert"), UTF8String.fromString("delete"))
      val schema = output.init.map(_.dataType)
      Some(local(
          output,
          weights.toSeq.flatMap { case (row, weight) =>
            val whole = InternalRow.fromSeq(row.toSeq(schema) :+ (if (weight > 0) insert else delete))
            Seq.fill(weight.abs)(whole)
          }
        ))
    }
  }

  /** Gives up what Spark has kept. */
  def release(): Unit = persisted.foreach(_.unpersist())
}

object SettledRows {

  /** What is held in the driver of a settled frame. */
  def held(frame: classic.DataFrame): Option[LocalRelation] = frame.queryExecution.analyzed match {
    case known: LocalRelation => Some(known)
    case _ => None
  }

  /** Whether a settled frame has no rows. */
  def isEmpty(frame: classic.DataFrame): Boolean = held(frame).exists(_.data.isEmpty)

  /** Rows under the attributes of a node that they replace, by position. */
  def as(frame: classic.DataFrame, output: Seq[Attribute]): LogicalPlan = {
    val rows = frame.queryExecution.analyzed
    Project(WeightedRows.renamed(rows.output, output), rows)
  }

  /** The first columns of rows, equal if and only if their bytes are. */
  private def binary(rows: LocalRelation, count: Int): Seq[UnsafeRow] = {
    val projection = UnsafeProjection.create(rows.output.take(count), rows.output)
    rows.data.map(projection(_).copy())
  }

  /** Whether equal values have equal bytes: entries of a map have no order, and one value may be many variants. */
  private def isBinary(dataType: DataType): Boolean =
    !dataType.existsRecursively(part => part.isInstanceOf[MapType] || part == VariantType)
}
