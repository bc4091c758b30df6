package org.apache.spark.sql.tablestore

import scala.collection.mutable

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, Project, Union}
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
    persisted.synchronized(persisted += kept.persist())
    kept
  }

  /** The same rows in the driver; None if they are many. */
  def inDriver(frame: classic.DataFrame): Option[classic.DataFrame] = frame.queryExecution.analyzed match {
    case HeldRows.In(_, rows) if rows.size <= heldMax => Some(frame)
    case analyzed => HeldRows.folded(analyzed) match {
        case HeldRows.In(output, rows) if rows.size <= heldMax => Some(local(output, rows))
        case folded => evaluated(WriteQuery.withKnownRows(frameOf(folded).queryExecution.optimizedPlan))
      }
  }
  private def evaluated(known: LogicalPlan): Option[classic.DataFrame] = known match {
    case HeldRows.In(output, rows) if rows.size <= heldMax => Some(local(output, rows))
    case _ => DriverQuery.rows(session, known, heldMax).orElse(computed(known)).map(local(known.output, _))
  }

  /** The rows of a plan for which it takes a Spark job; None if they are many. */
  private def computed(known: LogicalPlan): Option[Seq[InternalRow]] = {
    val first = classic.Dataset.ofRows(session, known).limit(heldMax + 1).queryExecution
    val rows = SQLExecution.withNewExecutionId(first, Some("changes"))(first.executedPlan.executeCollect())
    if (rows.length <= heldMax) Some(rows.toSeq) else None
  }

  def local(output: Seq[Attribute], rows: Seq[InternalRow]): classic.DataFrame =
    classic.Dataset.ofRows(session, HeldRows.of(output, rows))

  /** The different rows of settled frames. */
  def union(frames: Seq[classic.DataFrame]): classic.DataFrame = {
    val known = frames.map(SettledRows.held)
    if (known.contains(None)) of(frames.reduce(_ union _).distinct())
    else
      local(Union.mergeChildOutputs(known.flatten.map(_._1)),
        known.flatten.flatMap { case (output, rows) =>
          SettledRows.binary(output, rows, output.size)
        }.distinct)
  }

  /** The sum of settled bags, each of which adds its rows (1) or takes them away (-1), as [[difference.py]] describes it;
    * None if it takes Spark to add them up. A frame with one more column than `names` has the weights of its rows there. */
  def sum(parts: Seq[(classic.DataFrame, Int)], names: Seq[String], kind: String): Option[classic.DataFrame] = {
    val found = parts.map { case (frame, sign) => SettledRows.held(frame) -> sign }
    val known = found.collect { case (Some((output, rows)), sign) => (output, rows, sign) }
    val isBinary = known.forall(_._1.take(names.size).forall(column => SettledRows.isBinary(column.dataType)))
    if (known.size < found.size || !isBinary) None
    else {
      val weights = mutable.LinkedHashMap.empty[UnsafeRow, Int]
      for ((columns, rows, sign) <- known) {
        val isWeighted = columns.size > names.size
        for ((row, whole) <- SettledRows.binary(columns, rows, names.size).zip(rows)) {
          val weight = if (isWeighted) sign * whole.getInt(names.size) else sign
          weights.updateWith(row)(before => Some(before.getOrElse(0) + weight).filter(_ != 0))
        }
      }
      val output = Union.mergeChildOutputs(known.map(_._1.take(names.size))).zip(names).map { case (column, name) =>
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
  def release(): Unit = persisted.synchronized(persisted.foreach(_.unpersist()))
}

object SettledRows {

  /** What is held in the driver of a settled frame. */
  def held(frame: classic.DataFrame): Option[(Seq[Attribute], IndexedSeq[InternalRow])] =
    HeldRows.In.unapply(frame.queryExecution.analyzed)

  /** Whether a settled frame has no rows. */
  def isEmpty(frame: classic.DataFrame): Boolean = held(frame).exists(_._2.isEmpty)

  /** Rows under the attributes of a node that they replace, by position. */
  def as(frame: classic.DataFrame, output: Seq[Attribute]): LogicalPlan = {
    val rows = frame.queryExecution.analyzed
    Project(WeightedRows.renamed(rows.output, output), rows)
  }

  /** The first columns of rows, equal if and only if their bytes are. */
  private def binary(output: Seq[Attribute], rows: Seq[InternalRow], count: Int): Seq[UnsafeRow] = {
    val projection = UnsafeProjection.create(output.take(count), output)
    rows.map(projection(_).copy())
  }

  /** Whether equal values have equal bytes: one value may be many variants. */
  private def isBinary(dataType: DataType): Boolean = !dataType.existsRecursively(_ == VariantType)
}
