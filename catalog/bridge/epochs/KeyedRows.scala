package org.apache.spark.sql.tablestore

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, Join, JoinHint, LogicalPlan, Project}
import org.apache.spark.sql.types._

/** A moment at which a plan is evaluated.
  *
  * @param old
  *   versions of the tables that are read as they were, by number; 0 before the first
  * @param states
  *   the groups of aggregates whose own tables need not be read, by number
  */
case class Moment(old: Map[Int, String] = Map.empty, states: Map[Int, classic.DataFrame] = Map.empty)

/** Reads of a plan's nodes only what few keys touch: conditions that come from the keys go down to the tables, which
  * look them up or leave out files.
  *
  * @param whole
  *   a node's rows at a moment
  */
class KeyedRows(nodes: PlanNodes, settled: SettledRows, whole: (Int, Moment) => classic.DataFrame) {
  import KeyedRows._

  private var tableRows = Map.empty[Int, Long]

  /** About how many rows each table has, by number; what is not told is taken for none. */
  def know(rows: Map[Int, Long]): Unit = tableRows = rows
  private def hasMany(number: Int): Boolean =
    nodes.below(number).map(tableRows.getOrElse(_, 0L)).sum > fewRows

  /** The keys of rows that stand for a child of a node, settled. */
  def keysOf(node: Int, place: Int, rows: classic.DataFrame): classic.DataFrame = {
    val keys = JobPlan.keys(nodes(node))(place).zipWithIndex.map { case (key, at) => Alias(key, s"c$at")() }
    settled.of(settled.frameOf(Project(keys, SettledRows.as(rows, nodes(node).children(place).output))))
  }

  /** The rows of a join's other child that rows in the place of its child may meet, in the driver if they are few; None
    * if those rows are not held, or no table can be asked for their keys. */
  def beside(node: Int, place: Int, frames: Seq[classic.DataFrame], moment: Moment): Option[classic.DataFrame] = {
    val rows = frames.map(settled.of)
    val keys = if (rows.forall(SettledRows.held(_).nonEmpty)) rows.map(keysOf(node, place, _)) else Nil
    val other = 1 - place
    val wanted = if (keys.isEmpty) Nil else listed(JobPlan.keys(nodes(node))(other), settled.union(keys))
    if (wanted.isEmpty) None else Some(near(reduced(nodes.child(node, other), wanted, moment)))
  }

  /** The rows of a node's child whose keys are among `keys`, NULL being a key. */
  def ofChild(number: Int, place: Int, keys: classic.DataFrame, moment: Moment): LogicalPlan = {
    val by = JobPlan.keys(nodes(number))(place)
    cut(reduced(nodes.child(number, place), listed(by, keys), moment), by, keys)
  }

  private def near(rows: LogicalPlan): classic.DataFrame = {
    val frame = settled.frameOf(rows)
    settled.inDriver(frame).getOrElse(frame)
  }

  /** A node's rows, without most of those that do not satisfy conditions that come from few keys. Of a join, the side
    * with the conditions says which rows of the other side are looked at. */
  private def reduced(number: Int, conditions: Seq[Expression], moment: Moment): LogicalPlan = {
    def below(at: Int, wanted: Seq[Expression]) = reduced(nodes.child(number, at), wanted, moment)
    nodes(number) match {
      case _ if conditions.isEmpty || moment.states.contains(number) => filtered(number, conditions, moment)
      case project @ Project(columns, _) if columns.forall(_.deterministic) =>
        val known = columns.collect { case alias: Alias => alias.toAttribute -> alias.child }
        val values = AttributeMap(known)
        project.copy(child = below(0,
          conditions.map(_.transform { case column: Attribute =>
            values.getOrElse(column, column)
          })))
      case filter @ Filter(condition, _) if condition.deterministic => filter.copy(child = below(0, conditions))
      case join @ Join(_, _, Inner, _, _) if JobPlan.keys(join).nonEmpty && hasMany(number) =>
        val sides = join.children.map(side => conditions.filter(_.references.subsetOf(side.outputSet)))
        val from = sides.indexWhere(_.nonEmpty)
        if (sides.map(_.size).sum < conditions.size || from < 0) filtered(number, conditions, moment)
        else {
          val begun = near(below(from, sides(from)))
          val other = 1 - from
          val keys = SettledRows.held(begun).map(_ => keysOf(number, from, begun))
          val wanted = keys.toSeq.flatMap(listed(JobPlan.keys(join)(other), _))
          val rest = below(other, sides(other) ++ wanted)
          val met = if (wanted.isEmpty) settled.frameOf(rest) else near(rest)
          val found = Seq(begun -> from, met -> other).sortBy(_._2)
          join.withNewChildren(found.map { case (rows, at) => SettledRows.as(rows, join.children(at).output) })
        }
      case _ => filtered(number, conditions, moment)
    }
  }

  private def filtered(number: Int, conditions: Seq[Expression], moment: Moment): LogicalPlan = {
    val rows = SettledRows.as(whole(number, moment), nodes(number).output)
    conditions.foldLeft(rows)((kept, one) => Filter(one, kept))
  }
}

object KeyedRows {

  /** Of tables that are read whole rather than by keys. */
  val fewRows = 20000
  private val keysMax = 20000

  /** The rows of a node whose `by` are among `keys`, NULL being a key. */
  def cut(node: LogicalPlan, by: Seq[Expression], keys: classic.DataFrame): LogicalPlan = {
    val known = keys.queryExecution.analyzed
    val fresh = known.output.map(column => Alias(column, "k")())
    val same = by.zip(fresh).map { case (key, one) => EqualNullSafe(key, one.toAttribute): Expression }
    Join(node, Project(fresh, known), LeftSemi, Some(same.reduce(And)), JoinHint.NONE)
  }

  /** The rows of a node without most of those whose `by` are not among few `keys`: what tables can look up. */
  def listed(node: LogicalPlan, by: Seq[Expression], keys: classic.DataFrame): LogicalPlan =
    listed(by, keys).foldLeft(node)((rows, condition) => Filter(condition, rows))

  /** What holds of all rows whose `by` are among few `keys`, and of few others. */
  private def listed(by: Seq[Expression], keys: classic.DataFrame): Seq[Expression] =
    SettledRows.held(keys) match {
      case Some((output, data)) if data.size <= keysMax =>
        by.zipWithIndex.filter { case (key, _) => isListable(key.dataType) }.map { case (key, at) =>
          val values = data.map(_.get(at, output(at).dataType)).toSet
          val known = new AmongKeys(key, values - null): Expression
          if (values.contains(null)) Or(known, IsNull(key)) else known
        }
      case _ => Nil
    }

  private def isListable(dataType: DataType): Boolean = dataType match {
    case text: StringType => text == StringType
    case _: IntegralType | DateType | TimestampType | _: DecimalType => true
    case _ => false
  }
}
