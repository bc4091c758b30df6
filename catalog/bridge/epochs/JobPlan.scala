package org.apache.spark.sql.tablestore

import java.nio.charset.StandardCharsets
import java.security.MessageDigest

import scala.collection.mutable

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.expressions.aggregate._
import org.apache.spark.sql.catalyst.optimizer._
import org.apache.spark.sql.catalyst.planning.ExtractEquiJoinKeys
import org.apache.spark.sql.catalyst.plans.Cross
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.catalyst.trees.TreePattern.WITH_EXPRESSION
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation
import org.apache.spark.sql.types.{BinaryType, DataType, DoubleType, FloatType, MapType, StringType}

/** An analysed query in the few operators for which there are rules of change.
  *
  * Spark's own rules turn views, EXISTS, IN, correlated subqueries, DISTINCT, INTERSECT and EXCEPT into joins and
  * aggregates, and put the conditions of a WHERE into the joins that they belong to, so that a join knows its keys and
  * pairs no rows that do not belong together. What is added: a scalar subquery without outer columns becomes a join
  * with its one row, and rows that an ORDER BY leaves tied are ordered by all of their columns, so that the same rows
  * give the same result at each time.
  */
object JobPlan {
  def normal(analysed: LogicalPlan, optimizer: Optimizer): LogicalPlan = {
    // Each may leave a subquery of a subquery with conditions that have not been pulled up yet.
    val subqueries = Seq(RewritePredicateSubquery, RewriteCorrelatedScalarSubquery, RewriteLateralSubquery)
    val rules: Seq[Rule[LogicalPlan]] = subqueries.flatMap(Seq(PullupCorrelatedPredicates, _)) ++ Seq(
      ScalarSubqueries,
      ReplaceIntersectWithSemiJoin,
      ReplaceExceptWithAntiJoin,
      RewriteExceptAll,
      RewriteIntersectAll,
      ReplaceDistinctWithAggregate
    )
    val finished = optimizer.FinishAnalysis(InlineCTE(alwaysInline = true)(analysed))
    // It splits every aggregate in two.
    val begun = if (finished.containsPattern(WITH_EXPRESSION)) RewriteWithExpression(finished) else finished
    val plain = fixed(begun, rules).getOrElse(analysed)
    val joined = fixed(unsorted(plain), Seq(ReorderJoin, PushDownPredicates)).getOrElse(plain)
    val ordered = PullOutGroupingExpressions(BrokenTies(joined))
    fixed(ordered, Seq(ColumnPruning, RemoveNoopOperators)).getOrElse(ordered)
  }
  private def fixed(plan: LogicalPlan, rules: Seq[Rule[LogicalPlan]]): Option[LogicalPlan] = {
    val steps = Iterator.iterate(plan)(rules.foldLeft(_)((before, rule) => rule(before))).take(maxDepth)
    steps.sliding(2).collectFirst { case Seq(before, after) if before.fastEquals(after) => after }
  }

  /** Without the sorts that no LIMIT is above: rows of a table have no order. */
  private def unsorted(plan: LogicalPlan): LogicalPlan = plan match {
    case Sort(_, _, child, _) => unsorted(child)
    case limit @ (_: GlobalLimit | _: LocalLimit | _: Offset | _: Tail) => limit
    case other => other.withNewChildren(other.children.map(unsorted))
  }

  /** Of subqueries inside of each other. */
  private val maxDepth = 20

  /** What decides which rows of a node's child a row of the result depends on, of each child; Nil if all of them do. */
  def keys(node: LogicalPlan): Seq[Seq[Expression]] = node match {
    case aggregate: Aggregate => comparable(Seq(aggregate.groupingExpressions))
    case window: Window => comparable(Seq(window.partitionSpec))
    case ExtractEquiJoinKeys(_, left, right, _, _, _, _, _) => comparable(Seq(left, right))
    case _ => Nil
  }
  private def comparable(keys: Seq[Seq[Expression]]): Seq[Seq[Expression]] =
    if (keys.head.isEmpty || keys.flatten.exists(_.dataType.existsRecursively(_.isInstanceOf[MapType]))) Nil else keys

  /** Whether Spark merges groups of an aggregate that meet: what it groups by does not say in which group a row ends up,
    * and no condition on it may go below the aggregate. */
  def hasSessions(aggregate: Aggregate): Boolean = aggregate.groupingExpressions.exists {
    case column: Attribute => column.metadata.contains(SessionWindow.marker)
    case _ => false
  }

  /** The columns that a query uses of each managed table in its plan, in the plan's order. */
  def columns(plan: LogicalPlan): Seq[Seq[String]] = {
    val isUsed = used(pruned(plan))
    plan.collect { case relation @ JobTables.Managed(_) => relation.output.filter(isUsed.contains).map(_.name) }
  }
  private def used(plan: LogicalPlan): AttributeSet =
    plan.collectWithSubqueries {
      // By position, so that each child keeps as many columns as the others.
      case union: Union => AttributeSet(union.children.flatMap(_.output))
      case node => node.references
    }.foldLeft(plan.outputSet)(_ ++ _)

  /** The plan without columns that do not reach the result, be it that a `*` has them. */
  private def pruned(plan: LogicalPlan): LogicalPlan = {
    def step(before: LogicalPlan): LogicalPlan = {
      val isUsed = used(before)
      val narrow = before.transformWithSubqueries { case relation: DataSourceV2Relation =>
        relation.copy(output = relation.output.filter(isUsed.contains))
      }
      ColumnPruning(RemoveNoopOperators(narrow))
    }
    val steps = Iterator.iterate(ColumnPruning(plan))(step).take(maxDepth).toSeq
    steps.sliding(2).collectFirst { case Seq(before, after) if before.fastEquals(after) => after }.getOrElse(steps.last)
  }

  /** What is the same each time the query is analysed, as long as it and the views in it mean the same, whatever its
    * tables and their columns are called. Which they are is not in it. */
  def fingerprint(plan: LogicalPlan): String = {
    val narrow = pruned(plan).transformWithSubqueries { case relation @ JobTables.Managed(_) =>
      LocalRelation(relation.output, Nil)
    }
    val nameless = narrow.transformAllExpressionsWithSubqueries {
      case column: AttributeReference => column.withName("c")
      case OuterReference(column: AttributeReference) => OuterReference(column.withName("c"))
      case alias: Alias =>
        alias.copy(name = "c")(alias.exprId, alias.qualifier, alias.explicitMetadata, alias.nonInheritableMetadataKeys)
    }
    val constants = narrow.collectWithSubqueries { case known: LocalRelation => known.data.map(_.toString) }
    val travels = plan.collectWithSubqueries { case relation: DataSourceV2Relation => relation.timeTravelSpec }
    val text = nameless.treeString(verbose = true, maxFields = Int.MaxValue) + constants.mkString + travels.mkString
    // Numbers of columns and of variables are given anew by each analysis.
    val numbers = mutable.Map.empty[String, Int]
    val renumbered = number.replaceAllIn(
      sharedExpression.replaceAllIn(lambdaVariable.replaceAllIn(text, "lambda $1#$2"), "_common_expr"),
      found => s"#${numbers.getOrElseUpdate(found.group(1), numbers.size)}"
    )
    val digest = MessageDigest.getInstance("SHA-256").digest(renumbered.getBytes(StandardCharsets.UTF_8))
    digest.take(16).map("%02x".format(_)).mkString
  }
  private val sharedExpression = """_common_expr_\d+""".r
  private val lambdaVariable = """lambda (\w+?)(?:_\d+)?#(\d+)""".r
  private val number = """#(\d+)""".r

  /** Where in the result the keys of the last node with keys stand, if all of them do, else Nil: of an aggregate or a
    * window, which only projections and filters follow. */
  def keptKeys(plan: LogicalPlan): Seq[Int] = kept(plan).fold(Seq.empty[Int])(_.map(key => plan.output.indexOf(key)))
  private def kept(plan: LogicalPlan): Option[Seq[Attribute]] = plan match {
    case Filter(_, child) => kept(child)
    case Project(columns, child) => kept(child).flatMap(found(_, columns))
    case aggregate: Aggregate if keys(aggregate).nonEmpty =>
      found(aggregate.groupingExpressions, aggregate.aggregateExpressions)
    case window: Window if keys(window).nonEmpty => found(window.partitionSpec, window.output)
    case _ => None
  }
  private def found(keys: Seq[Expression], columns: Seq[NamedExpression]): Option[Seq[Attribute]] = {
    val places = keys.map(key =>
      columns.find {
        case Alias(value, _) => value.semanticEquals(key)
        case column => column.semanticEquals(key)
      })
    if (places.contains(None)) None else Some(places.flatten.map(_.toAttribute))
  }

  /** What in a node may give another result for the same rows in another order: functions, and groups of texts that a
    * collation calls equal, of which any one stands for its group. */
  def rounded(node: LogicalPlan): Seq[String] = {
    val functions = node.expressions.flatMap(_.collect {
      case AggregateExpression(function, _, _, _, _) if !isExact(function) => function.prettyName
    })
    val groups = node match {
      case aggregate: Aggregate => aggregate.groupingExpressions.filter(hasCollation)
      case _ => Nil
    }
    functions ++ groups.map(group => s"GROUP BY of ${group.dataType.sql}")
  }
  private def isExact(function: Expression): Boolean = function match {
    case _: Min | _: Max => !function.children.exists(hasCollation)
    case _: Count | _: ExactSum | _: HyperLogLogPlusPlus => true
    case percentile: PercentileBase => !hasFloats(percentile.child)
    // `First` is the optimiser's own here, over values that are all the same.
    case _: Sum | _: Average | _: BitAggregate | _: PivotFirst | _: First => !function.children.exists(hasFloats)
    case _ => false
  }
  private def hasFloats(value: Expression): Boolean = value.dataType.existsRecursively(isFloat)
  private def isFloat(dataType: DataType): Boolean = dataType == FloatType || dataType == DoubleType
  private def hasCollation(value: Expression): Boolean = value.dataType.existsRecursively(isCollated)
  private def isCollated(dataType: DataType): Boolean = dataType match {
    case text: StringType => !text.isUTF8BinaryCollation
    case _ => false
  }

  /** Joins the one row of a scalar subquery in the subquery's place. */
  private object ScalarSubqueries extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
      case node @ (_: Project | _: Filter | _: Window | _: Join | Aggregate(_ :: _, _, _, _))
          if node.expressions.exists(hasOne) =>
        val found = node.expressions.flatMap(_.collect { case one: ScalarSubquery if isPlain(one) => one })
        val values = found.map(one => one.canonicalized -> value(one)).toMap
        val joined = node match {
          case join: Join => join.copy(left = values.values.foldLeft(join.left)(cross))
          // The same value in all groups divides none of them.
          case all: Aggregate => all.copy(
              groupingExpressions = all.groupingExpressions ++ values.values.map(_.output.head),
              child = values.values.foldLeft(all.child)(cross))
          case other => other.withNewChildren(Seq(values.values.foldLeft(other.children.head)(cross)))
        }
        val replaced = joined.transformExpressionsUp {
          case one: ScalarSubquery if isPlain(one) => values(one.canonicalized).output.head
        }
        if (replaced.outputSet == node.outputSet) replaced else Project(node.output, replaced)
    }
    private def hasOne(expression: Expression): Boolean = expression.exists {
      case one: ScalarSubquery => isPlain(one)
      case _ => false
    }
    private def isPlain(subquery: ScalarSubquery): Boolean = subquery.outerAttrs.isEmpty && subquery.joinCond.isEmpty
    private def cross(left: LogicalPlan, right: LogicalPlan): LogicalPlan =
      Join(left, right, Cross, None, JoinHint.NONE)

    /** One row with the subquery's value, NULL if it has no row. */
    private def value(subquery: ScalarSubquery): LogicalPlan = {
      val column = subquery.plan.output.head
      subquery.plan match {
        case Aggregate(Nil, _, _, _) => Project(Seq(Alias(column, column.name)()), subquery.plan)
        case plan =>
          val count = Alias(Count(Literal(1)).toAggregateExpression(), "count")()
          val any = Alias(
            First(column, ignoreNulls = false)
              .toAggregateExpression(),
            column.name)()
          val tooMany = RaiseError(
            Literal("SCALAR_SUBQUERY_TOO_MANY_ROWS"), CreateMap(Nil, useStringTypeWhenEmpty = true), column.dataType)
          val one = If(GreaterThan(count.toAttribute, Literal(1L)), tooMany, any.toAttribute)
          Project(Seq(Alias(one, column.name)()), Aggregate(Nil, Seq(count, any), plan))
      }
    }
  }

  /** Orders tied rows of windows and of the rows before a LIMIT by their other columns. Without ORDER BY all are tied. */
  private object BrokenTies extends Rule[LogicalPlan] {
    override def apply(plan: LogicalPlan): LogicalPlan = plan.transformUp {
      case window @ Window(_, _, order, child, _) if order.nonEmpty && broken(order, child) != order =>
        // A frame of RANGE ends at the rows that the written order leaves tied.
        val (ranges, rows) = window.windowExpressions.partition(isRange)
        val byRow = if (rows.isEmpty) child
        else window.copy(windowExpressions = rows, orderSpec = broken(order, child))
        val all = if (ranges.isEmpty) byRow else window.copy(windowExpressions = ranges, child = byRow)
        if (all.output == window.output) all else Project(window.output, all)
      case limit @ LocalLimit(_, child) if !child.isInstanceOf[Offset] => limit.copy(child = sorted(child))
      case offset @ Offset(_, child) => offset.copy(child = sorted(child))
    }
    private def sorted(rows: LogicalPlan): LogicalPlan = rows match {
      case sort: Sort => sort.copy(order = broken(sort.order, sort.child))
      case other => broken(Nil, other) match {
          case Nil => other
          case order => Sort(order, global = true, other)
        }
    }
    private def isRange(expression: Expression): Boolean = expression.exists {
      case SpecifiedWindowFrame(RangeFrame, _, _) => true
      case _ => false
    }
    private def broken(order: Seq[SortOrder], child: LogicalPlan): Seq[SortOrder] = {
      val columns = child.output.filter(column => RowOrdering.isOrderable(column.dataType))
      // Texts that a collation calls equal have other bytes.
      val bytes = columns.filter(column => isCollated(column.dataType)).map(Cast(_, BinaryType))
      val others = (columns ++ bytes).filter(column => !order.exists(_.child.semanticEquals(column)))
      order ++ others.map(SortOrder(_, Ascending))
    }
  }
}
