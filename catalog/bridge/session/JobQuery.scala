package org.apache.spark.sql.tablestore

import java.util.Locale

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{ExistenceJoin, Inner, LeftSemi}
import org.apache.spark.sql.catalyst.plans.logical.{
  AppendData,
  Filter,
  InsertIntoStatement,
  Join,
  JoinHint,
  LocalRelation,
  LogicalPlan,
  Project,
  Union
}
import org.apache.spark.sql.execution.SQLExecution
import org.apache.spark.sql.execution.command.ViewHelper
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types._
import org.apache.spark.sql.util.CaseInsensitiveStringMap
import org.apache.spark.unsafe.types.UTF8String
import org.json4s.jackson.JsonMethods.compact

/** The query of a materialized view or an INSERT for the planner, analysed as Spark does it anywhere: in its own session,
  * which has the catalog, the namespace and the settings of the definition and none of a user's temporary objects.
  *
  * @param heldMax
  *   most changes or keys that are held in the driver
  */
class JobQuery(
    user: classic.SparkSession, query: Requests.StoredQuery, versions: java.util.Map[String, String], heldMax: Int) {
  private val session: classic.SparkSession = JobQuery.besides(user)
  session.sessionState.conf.setConfString(ManagedScan.answeredRows, fewRows.toString)
  query.settings.foreach { case (key, value) => session.sessionState.conf.setConfString(key, value) }
  session.sessionState.catalogManager.setCurrentCatalog(query.currentCatalog)
  session.sessionState.catalogManager.setCurrentNamespace(query.currentNamespace.toArray)

  private val analysed: LogicalPlan = session.withActive {
    val parsed = session.sessionState.sqlParser.parsePlan(query.text) match {
      case insert: InsertIntoStatement if query.columns.nonEmpty =>
        insert.copy(query = known(session.sessionState.executePlan(insert.query).analyzed))
      case other => other
    }
    val newest = StreamingStatements.anyMode(session.sessionState.executePlan(parsed).analyzed) match {
      case insert: AppendData => insert.query // with the table's columns, types and defaults
      case select => known(select)
    }
    JobTables.at(ExactSums(newest), versions)
  }

  /** A result without the columns that its `*` has had since the definition. As with Spark's views, of several columns
    * with one name each stays at its turn. */
  private def known(select: LogicalPlan): LogicalPlan = {
    val isSame = session.sessionState.conf.resolver
    val found = query.columns.zipWithIndex.map { case (name, at) =>
      select.output.filter(column => isSame(column.name, name)).lift(query.columns.take(at).count(isSame(_, name)))
    }
    if (found.isEmpty || select.output.size == found.size || found.contains(None)) select
    else Project(found.flatten, select)
  }
  private val plan: LogicalPlan = session.withActive(JobPlan.normal(analysed, session.sessionState.optimizer))

  /** Of a table that are read without a Spark job. */
  private def fewRows = 20000
  private val persisted = mutable.Buffer.empty[classic.DataFrame]

  /** The nodes of the plan by number, parents before children. */
  private val nodes: IndexedSeq[LogicalPlan] = {
    def walk(node: LogicalPlan): Seq[LogicalPlan] = node +: node.children.flatMap(walk)
    walk(plan).toIndexedSeq
  }

  private def queryNodes: Seq[Requests.QueryNode] = {
    var sources = -1
    def walk(node: LogicalPlan, parent: Int, number: Int): Seq[Requests.QueryNode] = {
      val kind = node match {
        case JobTables.Managed(_) => "Source"
        case other if other.expressions.exists(SubqueryExpression.hasSubquery) => "Subquery"
        case join: Join => join.joinType match {
            case _: ExistenceJoin => "Join Existence"
            case joined => s"Join ${joined.sql.toLowerCase(Locale.ROOT).split(' ').map(_.capitalize).mkString(" ")}"
          }
        case other => other.getClass.getSimpleName.stripSuffix("$")
      }
      if (kind == "Source") sources += 1
      val own = Requests.QueryNode(
        kind,
        parent,
        if (kind == "Source") Some(sources) else None,
        JobPlan.keys(node).headOption.fold(0)(_.size),
        JobPlan.rounded(node).headOption,
        AggregateState.of(node).map(_.columns.json)
      )
      node.children.foldLeft(Seq(own))((before, child) => before ++ walk(child, number, number + before.size))
    }
    walk(plan, -1, 0)
  }

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
    val leaves = analysed.collectWithSubqueries { case leaf if leaf.children.isEmpty => leaf }
    compact(Requests.QueryFacts(
        schema = analysed.schema.asNullable.json,
        sources = inPlan ++ others.map(_._1),
        columns = JobPlan.columns(plan) ++ others.map(_._2.fieldNames.toSeq),
        options = options ++ others.map(_ => Map.empty[String, String]),
        others = leaves.filterNot(JobQuery.isOwnOrConstant).map(_.simpleString(80)),
        functions = expressions.flatMap(_.collect { case function => function.prettyName }).distinct,
        isDeterministic = expressions.forall(_.deterministic),
        nodes = queryNodes,
        keptKeys = JobPlan.keptKeys(plan),
        plan = JobPlan.fingerprint(plan)
      ).toJson)
  }

  /** The result over the snapshots at which the tables were when the query was analysed. */
  def frame(): classic.DataFrame =
    classic.Dataset.ofRows(session, JobTables.pinned(plan))

  /** The result over other versions of the tables, by their directories; 0 before the first. */
  def frameAt(versions: java.util.Map[String, String]): classic.DataFrame =
    session.withActive(classic.Dataset.ofRows(session, JobTables.pinned(JobTables.at(plan, versions))))

  /** A node's rows, its columns by position.
    *
    * @param node its number
    * @param place which child `rows` stand for, the others being empty in a union; -1 for none
    * @param old versions of the tables that are read as they were, by number; 0 before the first
    * @param cut the number of a node below it of which only the rows of `keys` are wanted; -1 for none
    * @param states the groups of aggregates below it whose rows need not be read, by number
    */
  def evaluated(node: Int, place: Int, rows: classic.DataFrame, old: java.util.Map[Int, String], cut: Int,
      keys: classic.DataFrame, states: java.util.Map[Int, classic.DataFrame]): classic.DataFrame = {
    var next = node - 1
    def rebuilt(part: LogicalPlan): LogicalPlan = {
      next += 1
      val number = next
      val state = Option(states.get(number)).filter(_ => number != node || place < 0)
      if (state.isDefined) {
        part.children.foreach(_.foreach(_ => next += 1))
        AggregateState.of(part).get.result(state.get.queryExecution.analyzed)
      } else evaluatedHere(number, part)
    }
    def evaluatedHere(number: Int, part: LogicalPlan): LogicalPlan = {
      val children = part.children.zipWithIndex.map { case (child, at) =>
        if (number == cut) {
          child.foreach(_ => next += 1)
          nearKeys(number, at, keys.queryExecution.analyzed, old, states)
        } else if (number != node || place < 0 || !(at == place || part.isInstanceOf[Union])) rebuilt(child)
        else {
          child.foreach(_ => next += 1)
          if (at == place) JobQuery.as(rows.queryExecution.analyzed, child.output) else LocalRelation(child.output, Nil)
        }
      }
      (part, Option(old.get(number))) match {
        case (relation: DataSourceV2Relation, Some(version)) => JobTables.pinned(JobTables.at(relation, version))
        case (JobTables.Pinned(pinned), _) => pinned
        case _ => part.withNewChildren(children)
      }
    }
    byPosition(rebuilt(nodes(node)))
  }

  /** The rows of a join's other child that rows in the place of its child may meet, in the driver if they are few; null
    * if those rows are not held, or no table can be asked for their keys. `old` and `states` are those of
    * [[evaluated]]. */
  def beside(node: Int, place: Int, frames: java.util.List[classic.DataFrame], old: java.util.Map[Int, String],
      states: java.util.Map[Int, classic.DataFrame]): classic.DataFrame = {
    val rows = frames.asScala.map(settled)
    if (rows.exists(JobQuery.held(_).isEmpty)) null
    else {
      val columns = nodes(node).children(place).output
      val keys = rows.map(frame => keysIn(JobQuery.as(frame.queryExecution.analyzed, columns), node, place))
      val other = 1 - place
      val wanted = JobQuery.listed(JobPlan.keys(nodes(node))(other), union(keys.toSeq).queryExecution.analyzed)
      if (wanted.isEmpty) null else near(reduced(child(node, other), wanted, old, states))
    }
  }
  private def near(rows: LogicalPlan): classic.DataFrame = {
    val frame = frameOf(rows)
    inDriver(frame).getOrElse(frame)
  }

  /** About how many rows each table has, by number; 0 if it is not known. */
  private var tableRows = Map.empty[Int, Long]
  def know(rows: java.util.Map[Int, String]): Unit = tableRows = rows.asScala.view.mapValues(_.toLong).toMap
  private def hasMany(number: Int): Boolean =
    (number until number + nodes(number).collect { case node => node }.size).map(tableRows.getOrElse(_,
        0L)).sum > fewRows

  /** A node's rows, without most of those that do not satisfy conditions that come from few keys. Of a join, the side
    * with the conditions says which rows of the other side are looked at. */
  private def reduced(number: Int, conditions: Seq[Expression], old: java.util.Map[Int, String],
      states: java.util.Map[Int, classic.DataFrame]): LogicalPlan = {
    def below(at: Int, wanted: Seq[Expression]) = reduced(child(number, at), wanted, old, states)
    nodes(number) match {
      case _ if conditions.isEmpty || states.containsKey(number) => whole(number, conditions, old, states)
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
        if (sides.map(_.size).sum < conditions.size || from < 0) whole(number, conditions, old, states)
        else {
          val begun = near(below(from, sides(from)))
          val rows = JobQuery.as(begun.queryExecution.analyzed, join.children(from).output)
          val other = 1 - from
          val keys = JobQuery.held(begun).map(_ => keysIn(rows, number, from).queryExecution.analyzed)
          val listed = keys.toSeq.flatMap(JobQuery.listed(JobPlan.keys(join)(other), _))
          val wanted = sides(other) ++ listed
          val met = if (listed.isEmpty) frameOf(below(other, wanted)) else near(below(other, wanted))
          val found = JobQuery.as(met.queryExecution.analyzed, join.children(other).output)
          join.withNewChildren(if (from == 0) Seq(rows, found) else Seq(found, rows))
        }
      case _ => whole(number, conditions, old, states)
    }
  }

  /** The rows of a node's child whose keys are among `keys`, NULL being a key. */
  private def nearKeys(number: Int, place: Int, keys: LogicalPlan, old: java.util.Map[Int, String],
      states: java.util.Map[Int, classic.DataFrame]): LogicalPlan = {
    val by = JobPlan.keys(nodes(number))(place)
    JobQuery.cut(reduced(child(number, place), JobQuery.listed(by, keys), old, states), by, keys)
  }

  private def whole(number: Int, conditions: Seq[Expression], old: java.util.Map[Int, String],
      states: java.util.Map[Int, classic.DataFrame]): LogicalPlan = {
    val rows = evaluated(number, -1, null, old, -1, null, states).queryExecution.analyzed
    conditions.foldLeft(JobQuery.as(rows, nodes(number).output): LogicalPlan)((kept, one) => Filter(one, kept))
  }

  /** The number of a node's child. */
  private def child(number: Int, place: Int): Int =
    number + 1 + nodes(number).children.take(place).map(_.collect { case node => node }.size).sum

  /** The keys of rows that stand for a child of a node, settled. */
  private def keysIn(rows: LogicalPlan, node: Int, place: Int): classic.DataFrame = {
    val keys = JobPlan.keys(nodes(node))(place).zipWithIndex.map { case (key, at) => Alias(key, s"c$at")() }
    settled(frameOf(Project(keys, rows)))
  }

  /** The different rows of settled frames. */
  private def union(found: Seq[classic.DataFrame]): classic.DataFrame = {
    val known = found.map(JobQuery.held)
    if (known.contains(None)) settled(found.reduce(_ union _).distinct())
    else JobQuery.local(session, known.head.get.output, known.flatten.flatMap(JobQuery.binary).distinct)
  }

  /** A join's rows if `rows` stand for its child at `place` and `beside` for the other one, settled. */
  def joined(node: Int, place: Int, rows: classic.DataFrame, beside: classic.DataFrame): classic.DataFrame = {
    val join = nodes(node)
    val children = Seq(rows, beside).zip(Seq(place, 1 - place)).sortBy(_._2).map { case (frame, at) =>
      JobQuery.as(frame.queryExecution.analyzed, join.children(at).output)
    }
    settled(byPosition(join.withNewChildren(children)))
  }

  /** The keys of rows of a node's children, each once; `places` has the child that each of `frames` stands for. */
  def keysOf(node: Int, places: java.util.List[Int], frames: java.util.List[classic.DataFrame]): classic.DataFrame = {
    val found = places.asScala.zip(frames.asScala).map { case (place, rows) =>
      keysIn(JobQuery.as(rows.queryExecution.analyzed, nodes(node).children(place).output), node, place)
    }
    union(found.toSeq)
  }

  /** The sum of bags, each of which adds its rows (1) or takes them away (-1), as [[difference.py]] describes it; null
    * if it takes Spark to add them up. */
  def changes(frames: java.util.List[classic.DataFrame], signs: java.util.List[Int], names: java.util.List[String],
      kind: String): classic.DataFrame = {
    val found = frames.asScala.map(settled)
    val known = found.flatMap(JobQuery.held)
    if (known.size < found.size || known.exists(_.output.exists(column => !JobQuery.isBinary(column.dataType)))) null
    else {
      val weights = mutable.LinkedHashMap.empty[UnsafeRow, Int]
      for ((rows, sign) <- known.zip(signs.asScala); row <- JobQuery.binary(rows))
        weights.updateWith(row)(before => Some(before.getOrElse(0) + sign).filter(_ != 0))
      val output = known.head.output.zip(names.asScala).map { case (column, name) =>
        AttributeReference(name, column.dataType)()
      } :+ AttributeReference(kind, StringType)()
      val (insert, delete) = (UTF8String.fromString("insert"), UTF8String.fromString("delete"))
      val schema = output.init.map(_.dataType)
      JobQuery.local(
        session,
        output,
        weights.toSeq.flatMap { case (row, weight) =>
          val whole = InternalRow.fromSeq(row.toSeq(schema) :+ (if (weight > 0) insert else delete))
          Seq.fill(weight.abs)(whole)
        }
      )
    }
  }

  /** The changed groups of an aggregate with state by the changes of its child, settled: see [[AggregateState.merged]].
    * `state` has the groups as they were. */
  def merged(node: Int, frames: java.util.List[classic.DataFrame], signs: java.util.List[Int], state: classic.DataFrame)
      : classic.DataFrame = {
    val aggregate = nodes(node)
    val weight = AttributeReference("weight", IntegerType)()
    val parts = frames.asScala.zip(signs.asScala).map { case (rows, sign) =>
      val renamed = JobQuery.as(rows.queryExecution.analyzed, aggregate.children.head.output)
      Project(renamed.output :+ Alias(Literal(sign), "weight")(exprId = weight.exprId), renamed)
    }
    val all = if (parts.size == 1) parts.head else Union(parts.toSeq)
    val of = AggregateState.of(aggregate).get
    val change = settled(frameOf(of.change(all, weight)))
    if (isEmpty(change)) change
    else {
      val (changes, known) = (change.queryExecution.analyzed, state.queryExecution.analyzed)
      val keys = JobQuery.local(
        session, changes.output.take(1),
        JobQuery.held(change).toSeq.flatMap(_.data.map(row => InternalRow(row.getUTF8String(0)))))
      val near = JobQuery.listed(known, known.output.take(1), keys.queryExecution.analyzed)
      settled(frameOf(of.merged(changes, near)))
    }
  }

  /** The rows of changed groups to write to the table that holds them. */
  def stateChange(node: Int, merged: classic.DataFrame, kind: String): classic.DataFrame = {
    val of = AggregateState.of(nodes(node)).get
    frameOf(of.written(of.rows(merged.queryExecution.analyzed, isAfter = true), kind))
  }

  /** The rows of all groups, of all rows of the aggregate's child. */
  def state(node: Int, rows: classic.DataFrame): classic.DataFrame = {
    val aggregate = nodes(node)
    frameOf(AggregateState.of(aggregate).get.of(
        JobQuery.as(rows.queryExecution.analyzed, aggregate.children.head.output)))
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
    frameOf(JobTables.pinned(DataSourceV2Relation.create(table, None, None)))
  }

  /** The changes of a table; `description` is what the planner says of them. */
  def tableChanges(description: String, options: java.util.Map[String, String]): classic.DataFrame = {
    val relation = Requests.RelationReference(Requests.CatalogReference("", Map.empty, ""), Nil, "")
    val changelog = new ManagedChangelog(relation, new Answers.Changelog(Json.parse(description)))
    frameOf(DataSourceV2Relation.create(
        ChangesTable(changelog), None, None, new CaseInsensitiveStringMap(options)))
  }

  /** What [[share]] holds; null if there is nothing under the key. */
  def shared(key: String): classic.DataFrame =
    SharedChanges.get(key).fold[classic.DataFrame](null)(rows => classic.Dataset.ofRows(session, rows))

  /** Holds settled changes for other jobs, if they are in the driver. */
  def share(key: String, frame: classic.DataFrame): Unit =
    DriverQuery.folded(frame.queryExecution.analyzed) match {
      case rows: LocalRelation => SharedChanges.put(key, rows)
      case _ =>
    }

  private def frameOf(plan: LogicalPlan): classic.DataFrame = session.withActive(classic.Dataset.ofRows(session, plan))

  /** Those rows of a result whose keys, of the plan's top, are among `keys`. */
  def withKeys(rows: classic.DataFrame, keys: classic.DataFrame): classic.DataFrame = {
    val plan = rows.queryExecution.analyzed
    val (by, known) = (JobPlan.keptKeys(this.plan).map(plan.output), keys.queryExecution.analyzed)
    frameOf(JobQuery.cut(JobQuery.listed(plan, by, known), by, known))
  }

  /** The same rows, held in the driver if they are at most [[heldMax]], else kept by Spark until [[release]]. */
  def settled(frame: classic.DataFrame): classic.DataFrame = inDriver(frame).getOrElse {
    val kept = frameOf(WriteQuery.withKnownRows(frame.queryExecution.optimizedPlan))
    persisted += kept.persist()
    kept
  }

  /** The same rows in the driver; None if they are more than [[heldMax]]. */
  private def inDriver(frame: classic.DataFrame): Option[classic.DataFrame] = frame.queryExecution.analyzed match {
    case few: LocalRelation if few.data.size <= heldMax => Some(frame)
    case analyzed => DriverQuery.folded(analyzed) match {
        case few: LocalRelation if few.data.size <= heldMax => Some(JobQuery.local(session, few.output, few.data))
        case _ => evaluated(WriteQuery.withKnownRows(frame.queryExecution.optimizedPlan))
      }
  }
  private def evaluated(known: LogicalPlan): Option[classic.DataFrame] = known match {
    case few: LocalRelation if few.data.size <= heldMax => Some(JobQuery.local(session, few.output, few.data))
    case _ => DriverQuery.rows(session, known, heldMax).orElse(computed(known))
        .map(JobQuery.local(session, known.output, _))
  }

  /** The rows of a plan for which it takes a Spark job; None if they are more than [[heldMax]]. */
  private def computed(known: LogicalPlan): Option[Seq[InternalRow]] = {
    val first = classic.Dataset.ofRows(session, known).limit(heldMax + 1).queryExecution
    val rows = SQLExecution.withNewExecutionId(first, Some("changes"))(first.executedPlan.executeCollect())
    if (rows.length <= heldMax) Some(rows.toSeq) else None
  }

  /** The rows of a settled frame that have a text in its last column, without it. */
  def having(frame: classic.DataFrame, kind: String): classic.DataFrame = {
    val plan = frame.queryExecution.analyzed
    frameOf(DriverQuery.folded(Project(plan.output.init, Filter(EqualTo(plan.output.last, Literal(kind)), plan))))
  }

  /** Whether a settled frame has no rows. */
  def isEmpty(frame: classic.DataFrame): Boolean = JobQuery.held(frame).exists(_.data.isEmpty)

  /** Gives up what [[settled]] has kept. */
  def release(): Unit = persisted.foreach(_.unpersist())

  private def byPosition(node: LogicalPlan): classic.DataFrame = session.withActive(classic.Dataset.ofRows(
      session, Project(node.output.zipWithIndex.map { case (column, at) => Alias(column, s"c$at")() }, node)))

  /** A frame of the same session. */
  def sql(text: String): classic.DataFrame = session.sql(text)
}

object JobQuery {

  /** `versions` has those of tables, by directory, that are read as they were then. */
  def of(session: classic.SparkSession, text: String, catalog: String, namespace: java.util.List[String],
      settings: java.util.Map[String, String], columns: java.util.List[String], versions: java.util.Map[String, String],
      heldMax: Int): JobQuery = {
    val query =
      Requests.StoredQuery(text, catalog, namespace.asScala.toSeq, settings.asScala.toMap, columns.asScala.toSeq)
    session.withActive(new JobQuery(session, query, versions, heldMax))
  }

  /** Settings that change what a query means: stored even where they have their defaults. */
  private val meaning = Seq(
    "spark.sql.ansi.doubleQuotedIdentifiers",
    "spark.sql.ansi.enabled",
    "spark.sql.ansi.enforceReservedKeywords",
    "spark.sql.ansi.relationPrecedence",
    "spark.sql.caseSensitive",
    "spark.sql.charAsVarchar",
    "spark.sql.decimalOperations.allowPrecisionLoss",
    "spark.sql.groupByAliases",
    "spark.sql.groupByOrdinal",
    "spark.sql.jsonGenerator.ignoreNullFields",
    "spark.sql.legacy.charVarcharAsString",
    "spark.sql.legacy.ctePrecedencePolicy",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled",
    "spark.sql.legacy.literal.pickMinimumPrecision",
    "spark.sql.legacy.setopsPrecedence.enabled",
    "spark.sql.legacy.sizeOfNull",
    "spark.sql.legacy.timeParserPolicy",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.orderByOrdinal",
    "spark.sql.parser.escapedStringLiterals",
    "spark.sql.parser.quotedRegexColumnNames",
    "spark.sql.session.timeZone",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.timestampType"
  )

  /** A text with what gives it its meaning in a user's session. */
  def stored(user: classic.SparkSession, text: String): Requests.StoredQuery = {
    val state = user.sessionState
    Requests.StoredQuery(
      text,
      state.catalogManager.currentCatalog.name,
      state.catalogManager.currentNamespace.toSeq,
      ViewHelper.sqlConfigsToProps(state.conf, "") ++ meaning.map(key => key -> state.conf.getConfString(key))
    )
  }

  /** The same of an INSERT. */
  def storedInsert(user: classic.SparkSession, text: String): Requests.StoredQuery =
    user.sessionState.sqlParser.parsePlan(text) match {
      case insert: InsertIntoStatement =>
        val query = StreamingStatements.anyMode(user.sessionState.executePlan(insert.query).analyzed)
        stored(user, text).copy(columns = query.output.map(_.name))
      case _ => stored(user, text)
    }

  /** A session that has the catalogs of a user's, and no other setting of it. */
  def besides(user: classic.SparkSession): classic.SparkSession = {
    val session = user.newSession()
    user.sessionState.conf.getAllConfs.filter(_._1.startsWith("spark.sql.catalog.")).foreach { case (key, value) =>
      session.sessionState.conf.setConfString(key, value)
    }
    session
  }

  /** What writes the rows of a frame. */
  def written(frame: classic.DataFrame): WriteQuery =
    new WriteQuery(frame.sparkSession,
      DriverQuery.folded(frame.queryExecution.analyzed) match {
        case known: LocalRelation => known
        case _ => frame.queryExecution.optimizedPlan
      })

  /** Lets cached plans over a table read its new rows. */
  def recache(session: classic.SparkSession, name: java.util.List[String]): Unit =
    session.sharedState.cacheManager.recacheTableOrView(session, name.asScala.toSeq, includeTimeTravel = false)

  /** What [[JobQuery.settled]] holds in the driver. */
  private def held(frame: classic.DataFrame): Option[LocalRelation] = frame.queryExecution.analyzed match {
    case known: LocalRelation => Some(known)
    case _ => None
  }
  private def local(session: classic.SparkSession, output: Seq[Attribute], rows: Seq[InternalRow]): classic.DataFrame =
    classic.Dataset.ofRows(session, LocalRelation(output, rows))

  /** Rows that are equal if and only if their bytes are. */
  private def binary(rows: LocalRelation): Seq[UnsafeRow] = {
    val projection = UnsafeProjection.create(rows.output, rows.output)
    rows.data.map(projection(_).copy())
  }

  /** Whether equal values have equal bytes: entries of a map have no order, and one value may be many variants. */
  private def isBinary(dataType: DataType): Boolean =
    !dataType.existsRecursively(part => part.isInstanceOf[MapType] || part == VariantType)

  /** Rows under the attributes of a node that they replace, by position. */
  private def as(rows: LogicalPlan, output: Seq[Attribute]): LogicalPlan = Project(
    output.zip(rows.output).map { case (column, row) => Alias(row, column.name)(exprId = column.exprId) },
    rows)

  /** The rows of a node whose `by` are among `keys`, NULL being a key. */
  private def cut(node: LogicalPlan, by: Seq[Expression], keys: LogicalPlan): LogicalPlan = {
    val fresh = keys.output.map(column => Alias(column, "k")())
    val same = by.zip(fresh).map { case (key, one) => EqualNullSafe(key, one.toAttribute): Expression }
    Join(node, Project(fresh, keys), LeftSemi, Some(same.reduce(And)), JoinHint.NONE)
  }

  /** The rows of a node without most of those whose `by` are not among few `keys`: what tables can look up. */
  private def listed(node: LogicalPlan, by: Seq[Expression], keys: LogicalPlan): LogicalPlan =
    listed(by, keys).foldLeft(node)((rows, condition) => Filter(condition, rows))

  /** What holds of all rows whose `by` are among few `keys`, and of few others. */
  private def listed(by: Seq[Expression], keys: LogicalPlan): Seq[Expression] = keys match {
    case LocalRelation(output, data, false, _) if data.size <= listedMax =>
      by.zipWithIndex.filter { case (key, _) => isListable(key.dataType) }.map { case (key, at) =>
        val values = data.map(_.get(at, output(at).dataType)).toSet
        val known = InSet(key, values - null): Expression
        if (values.contains(null)) Or(known, IsNull(key)) else known
      }
    case _ => Nil
  }
  private val listedMax = 10000
  private def isListable(dataType: DataType): Boolean = dataType match {
    case text: StringType => text == StringType
    case _: IntegralType | DateType | TimestampType | _: DecimalType => true
    case _ => false
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
