package org.apache.spark.sql.tablestore

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions.{Left => _, Right => _, _}
import org.apache.spark.sql.catalyst.plans.logical.{Aggregate, Filter, LogicalPlan, Sample, Union}
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.json4s.{JArray, JObject, JString}
import org.json4s.jackson.JsonMethods.compact

/** The query of a materialized view or an INSERT for the planner, analysed as Spark does it anywhere. Versions of tables
  * and names come as JSON, for each element of a list would be a call from Python of its own.
  *
  * @param session
  *   in which it has its meaning
  * @param plan
  *   what [[JobPlan.normal]] makes of it
  * @param heldMax
  *   most changes or keys that are held in the driver
  */
class JobQuery(session: classic.SparkSession, analysed: LogicalPlan, plan: LogicalPlan, heldMax: Int) {
  private val nodes = new PlanNodes(plan)
  private val settledRows = new SettledRows(session, heldMax)
  private val keyedRows = new KeyedRows(nodes, settledRows, (node, moment) => rowsOf(node, moment))

  /** What the planner decides by, as JSON. */
  def facts(): String = {
    val expressions = analysed.collectWithSubqueries { case node => node.expressions }.flatten
    // Those of the plan itself first: they are the ones that its nodes name.
    val inPlan = plan.collect { case JobTables.Managed(table) => table.reference }
    val options = plan.collect { case DataSourceV2Relation(_: ManagedTable, _, _, _, stated, _) =>
      stated.asCaseSensitiveMap.asScala.toMap
    }
    val inAll = analysed.collectWithSubqueries { case JobTables.Managed(table) => table.reference -> table.schema() }
    val others = inAll.filterNot { case (table, _) => inPlan.contains(table) }
    val origins = new ColumnOrigins(plan)
    val samples = analysed.collectWithSubqueries { case _: Sample => "TABLESAMPLE" }
    val leaves = analysed.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }
    compact(Requests.QueryFacts(
        schema = analysed.schema.asNullable.json,
        sources = inPlan ++ others.map(_._1),
        columns = JobPlan.columns(plan) ++ others.map(_._2.fieldNames.toSeq),
        options = options ++ others.map(_ => Map.empty[String, String]),
        others = leaves.filterNot(JobQuery.isOwnOrConstant).map(_.simpleString(80)),
        functions =
          (samples ++ expressions.flatMap(_.collect { case function => JobQuery.nameOf(function) })).distinct,
        isDeterministic = expressions.forall(_.deterministic),
        nodes = nodes.described,
        keptKeys = JobPlan.keptKeys(plan),
        origins = origins.results,
        conditions = origins.conditions,
        plan = JobPlan.fingerprint(plan),
        isLasting = LastingQueries.isLasting(analysed)
      ).toJson)
  }

  /** A lasting query over other versions of its tables, by their directories. */
  def at(versions: String): JobQuery = {
    val known = JobQuery.texts(versions)
    new JobQuery(session, JobTables.at(analysed, known), JobTables.at(plan, known), heldMax)
  }

  /** The result over the snapshots at which the tables were when the query was analysed. */
  def frame(): classic.DataFrame = classic.Dataset.ofRows(session, JobTables.pinned(plan))

  /** The result over other versions of the tables, by their directories; 0 before the first. */
  def frameAt(versions: String): classic.DataFrame =
    settledRows.frameOf(JobTables.pinned(JobTables.at(plan, JobQuery.texts(versions))))

  /** By which columns of tables rows are in windows, as JSON, or why the query cannot be cut to windows. */
  def windowTimes(): String = compact(ClosedWindows.times(plan) match {
    case Left(problem) => JObject("problem" -> JString(problem))
    case Right(times) => JObject("times" -> JArray(times.toList.map(time =>
          JObject("path" -> JString(time.path), "column" -> JString(time.column)))))
  })

  /** The result of the windows that end after a time, null for any, and not after another one; in ms since 1970. */
  def closedWindows(after: java.lang.Long, until: Long): classic.DataFrame = {
    val pinned = JobTables.pinned(ClosedWindows.cut(plan, Option(after).map(_ * 1000), until * 1000))
    settledRows.frameOf(pinned)
  }

  /** How many of the rows that come to an aggregate's child are of windows that end until a time, in ms since 1970. */
  def lateRows(node: Int, frames: java.util.List[classic.DataFrame], signs: String, until: Long): Long = {
    val (aggregate, weight) = (nodes(node).asInstanceOf[Aggregate], WeightedRows.weight)
    val parts = frames.asScala.zip(JobQuery.numbers(signs)).map { case (rows, sign) =>
      WeightedRows.signed(rows, aggregate.child.output, sign, weight)
    }
    val all = if (parts.size == 1) parts.head else Union(parts.toSeq)
    val late = Filter(And(GreaterThan(weight, Literal(0)), ClosedWindows.ended(aggregate, until * 1000)), all)
    val found = settled(settledRows.frameOf(late))
    SettledRows.held(found).fold(found.count())(_._2.size.toLong)
  }

  /** A node's rows, its columns by position. Where it has a child of the number `cut`, only those with `keys` of this
    * child count. */
  def evaluated(node: Int, old: String, states: java.util.Map[Int, classic.DataFrame], cut: Int,
      keys: classic.DataFrame): classic.DataFrame = {
    val moment = JobQuery.moment(old, states)
    byPosition(new Evaluation(moment) {
      override def child(number: Int, part: LogicalPlan, at: Int): Option[LogicalPlan] =
        if (number == cut) Some(keyedRows.ofChild(number, at, keys, moment)) else None
    }.of(node))
  }
  private def rowsOf(node: Int, moment: Moment): classic.DataFrame = byPosition(new Evaluation(moment).of(node))

  /** A node's rows if `rows` stand for its child at `place`, those of a union alone; see [[WeightedRows]]. */
  def replaced(node: Int, place: Int, frame: classic.DataFrame, old: String,
      states: java.util.Map[Int, classic.DataFrame]): classic.DataFrame = {
    val part = nodes(node)
    val rows = WeightedRows.of(frame, part.children(place).output)
    val found = part match {
      case union: Union => rows.through(union)
      case _ =>
        val evaluation = new Evaluation(JobQuery.moment(old, states))
        rows.through(part.withNewChildren(part.children.indices.map(at =>
              if (at == place) rows.plan else evaluation.of(nodes.child(node, at)))))
    }
    settledRows.frameOf(found.byPosition)
  }

  /** Builds the plan of a node at a moment. */
  private class Evaluation(moment: Moment) {

    /** What stands for a node's child; None: it is evaluated. */
    def child(number: Int, part: LogicalPlan, at: Int): Option[LogicalPlan] = None

    def of(number: Int): LogicalPlan = nodes(number) match {
      case aggregate if moment.states.contains(number) =>
        AggregateState.of(aggregate).get.result(moment.states(number).queryExecution.analyzed)
      case relation: DataSourceV2Relation if moment.old.contains(number) =>
        JobTables.pinned(JobTables.at(relation, moment.old(number)))
      case JobTables.Pinned(pinned) => pinned
      case part => part.withNewChildren(part.children.indices.map(at =>
            child(number, part, at).getOrElse(of(nodes.child(number, at)))))
    }
  }

  /** About how many rows each table has, by number. */
  def know(rows: String): Unit = keyedRows.know(JobQuery.byNumber(rows).map { case (node, count) =>
    node -> count.toLong
  })

  /** See [[KeyedRows.beside]]; null for None. */
  def beside(node: Int, place: Int, frames: java.util.List[classic.DataFrame], old: String,
      states: java.util.Map[Int, classic.DataFrame]): classic.DataFrame =
    keyedRows.beside(node, place, frames.asScala.toSeq, JobQuery.moment(old, states)).orNull

  /** A join's rows if `rows` stand for its child at `place` and `beside` for the other one, settled. */
  def joined(node: Int, place: Int, frame: classic.DataFrame, beside: classic.DataFrame): classic.DataFrame = {
    val join = nodes(node)
    val rows = WeightedRows.of(frame, join.children(place).output)
    val met = SettledRows.as(beside, join.children(1 - place).output)
    val found = rows.through(join.withNewChildren(if (place == 0) Seq(rows.plan, met) else Seq(met, rows.plan)))
    settled(settledRows.frameOf(found.byPosition))
  }

  /** The keys of rows of a node's children, each once; `places` has the child that each of `frames` stands for. */
  def keysOf(node: Int, places: String, frames: java.util.List[classic.DataFrame]): classic.DataFrame =
    settledRows.union(JobQuery.numbers(places).zip(frames.asScala).map { case (place, rows) =>
      keyedRows.keysOf(node, place, rows)
    })

  /** Columns, each as SQL, in a JSON array. */
  def selected(rows: classic.DataFrame, columns: String): classic.DataFrame =
    rows.selectExpr(JobQuery.list(columns): _*)

  /** See [[SettledRows.sum]]; null for None. */
  def changes(
      frames: java.util.List[classic.DataFrame], signs: String, names: String, kind: String): classic.DataFrame =
    settledRows.sum(frames.asScala.toSeq.zip(JobQuery.numbers(signs)), JobQuery.list(names), kind)
      .orNull

  /** The changed groups of an aggregate with state by the changes of its child, settled: see [[AggregateState.merged]].
    * `state` has the groups as they were. */
  def merged(node: Int, frames: java.util.List[classic.DataFrame], signs: String, state: classic.DataFrame)
      : classic.DataFrame = {
    val aggregate = nodes(node)
    val weight = WeightedRows.weight
    val parts = frames.asScala.zip(JobQuery.numbers(signs)).map { case (rows, sign) =>
      WeightedRows.signed(rows, aggregate.children.head.output, sign, weight)
    }
    val all = if (parts.size == 1) parts.head else Union(parts.toSeq)
    val of = AggregateState.of(aggregate).get
    val change = settled(settledRows.frameOf(of.change(all, weight)))
    if (isEmpty(change)) change
    else {
      val (changes, known) = (change.queryExecution.analyzed, state.queryExecution.analyzed)
      val keys = settledRows.local(
        changes.output.take(1),
        SettledRows.held(change).toSeq.flatMap(_._2.map(row => InternalRow(row.getUTF8String(0)))))
      settled(settledRows.frameOf(of.merged(changes, KeyedRows.listed(known, known.output.take(1), keys))))
    }
  }

  /** The rows of changed groups to write to the table that holds them. */
  def stateChange(node: Int, merged: classic.DataFrame, kind: String): classic.DataFrame = {
    val of = AggregateState.of(nodes(node)).get
    settledRows.frameOf(of.written(of.rows(merged.queryExecution.analyzed, isAfter = true), kind))
  }

  /** The rows of all groups, of all rows of the aggregate's child. */
  def state(node: Int, rows: classic.DataFrame): classic.DataFrame = {
    val aggregate = nodes(node)
    settledRows.frameOf(AggregateState.of(aggregate).get.of(SettledRows.as(rows, aggregate.children.head.output)))
  }

  /** The result of an aggregate for the changed groups, after the change or before it, by position. */
  def resultOf(node: Int, merged: classic.DataFrame, isAfter: Boolean): classic.DataFrame = {
    val of = AggregateState.of(nodes(node)).get
    byPosition(of.result(of.rows(merged.queryExecution.analyzed, isAfter)))
  }

  /** A table that is in no catalog; `description` is what the planner says of it. */
  def table(name: String, description: String): classic.DataFrame = {
    val relation = Requests.RelationReference(Requests.CatalogReference("", Map.empty, ""), Nil, name)
    val table = ManagedTable(relation, new Answers.DescribedTable(Json.parse(description)))
    settledRows.frameOf(JobTables.pinned(DataSourceV2Relation.create(table, None, None)))
  }

  /** The changes of a table; `description` is what the planner says of them. */
  def tableChanges(description: String, options: String): classic.DataFrame = {
    val relation = Requests.RelationReference(Requests.CatalogReference("", Map.empty, ""), Nil, "")
    val changelog = new ManagedChangelog(relation, new Answers.Changelog(Json.parse(description)))
    val stated = new CaseInsensitiveStringMap(JobQuery.texts(options).asJava)
    settledRows.frameOf(DataSourceV2Relation.create(ChangesTable(changelog), None, None, stated))
  }

  /** What [[share]] holds; null if there is nothing under the key. */
  def shared(key: String): classic.DataFrame =
    SharedChanges.get(key).fold[classic.DataFrame](null)(rows => classic.Dataset.ofRows(session, rows))

  /** Holds settled changes for other jobs, if they are in the driver. */
  def share(key: String, frame: classic.DataFrame): Unit =
    HeldRows.folded(frame.queryExecution.analyzed) match {
      case rows: HeldRows => SharedChanges.put(key, rows)
      case _ =>
    }

  /** Those rows of a result whose keys, of the plan's top, are among `keys`. */
  def withKeys(rows: classic.DataFrame, keys: classic.DataFrame): classic.DataFrame = {
    val found = rows.queryExecution.analyzed
    val by = JobPlan.keptKeys(plan).map(found.output)
    settledRows.frameOf(KeyedRows.cut(KeyedRows.listed(found, by, keys), by, keys))
  }

  def settled(frame: classic.DataFrame): classic.DataFrame = settledRows.of(frame)
  def isEmpty(frame: classic.DataFrame): Boolean = SettledRows.isEmpty(frame)
  def release(): Unit = settledRows.release()

  private def byPosition(node: LogicalPlan): classic.DataFrame =
    settledRows.frameOf(WeightedRows(node, None).byPosition)

  /** The rows of another query in the same session, over other versions of its tables, by their directories. The columns
    * are those of today, whatever they were called then. */
  def sqlAt(text: String, versions: String): classic.DataFrame = {
    val analysed = session.sql(text).queryExecution.analyzed
    classic.Dataset.ofRows(session, JobTables.pinned(JobTables.at(analysed, JobQuery.texts(versions))))
  }
}

object JobQuery {

  /** A stored query as JSON; `versions` has those of tables, by directory, that are read as they were then. */
  def of(user: classic.SparkSession, query: String, versions: String, heldMax: Int): JobQuery = {
    val stored = StoredQueries.read(query)
    user.withActive {
      val session = StoredQueries.sessionOf(user, stored)
      session.sessionState.conf.setConfString(ManagedScan.answeredRows, KeyedRows.fewRows.toString)
      // Few rows are held in the driver: to look at one partition first would let the other cores wait.
      session.sessionState.conf.setConf(
        SQLConf.LIMIT_INITIAL_NUM_PARTITIONS, 2 * session.sparkContext.defaultParallelism)
      val analysed = StoredQueries.analysed(session, stored, texts(versions))
      val plan = session.withActive(JobPlan.normal(analysed, session.sessionState.optimizer))
      new JobQuery(session, analysed, plan, heldMax)
    }
  }

  /** What a stored query's meaning depends on besides itself and its tables, as a JSON array: the application, then the
    * settings of its catalogs. */
  def contextOf(user: classic.SparkSession): String = {
    val catalogs = StoredQueries.catalogsOf(user).toList.sorted.flatMap { case (key, value) => List(key, value) }
    compact(JArray((user.sparkContext.applicationId :: catalogs).map(JString(_))))
  }

  /** What writes the rows of a frame. */
  def written(frame: classic.DataFrame): WriteQuery =
    new WriteQuery(frame.sparkSession,
      HeldRows.folded(frame.queryExecution.analyzed) match {
        case known @ HeldRows.In(_, _) => known
        case _ => frame.queryExecution.optimizedPlan
      })

  private def list(json: String): Seq[String] = Form.seq[String].read(Json.parse(json))
  private def texts(json: String): Map[String, String] = Form.map[String].read(Json.parse(json))
  private def numbers(json: String): Seq[Int] = Form.seq[Int].read(Json.parse(json))
  private def byNumber(json: String): Map[Int, String] = texts(json).map { case (node, text) => node.toInt -> text }
  private def moment(old: String, states: java.util.Map[Int, classic.DataFrame]): Moment =
    Moment(byNumber(old), states.asScala.toMap)

  /** What a function is called, or a use of it that depends on an order of rows where others do not: [[JobPlan]] breaks
    * ties of frames of ROWS alone. */
  private def nameOf(function: Expression): String = function match {
    case WindowExpression(_: NthValue, WindowSpecDefinition(_, _, SpecifiedWindowFrame(RangeFrame, _, _))) =>
      "nth_value of tied rows"
    case other => other.prettyName
  }

  private def isOwnOrConstant(leaf: LogicalPlan): Boolean = leaf match {
    case JobTables.Managed(_) => true
    case other => isConstant(other)
  }
  def isConstant(leaf: LogicalPlan): Boolean = leaf.getClass.getSimpleName match {
    case "LocalRelation" | "OneRowRelation" | "Range" | "CTERelationRef" => true
    case _ => false
  }
}
