package org.apache.spark.sql.tablestore

import org.apache.spark.SparkContext
import org.apache.spark.sql.{classic, Row, SparkSession, SparkSessionExtensions}
import org.apache.spark.sql.catalyst.{CatalystTypeConverters, FunctionIdentifier, TableIdentifier}
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression}
import org.apache.spark.sql.catalyst.parser.{ParameterContext, ParameterHandler, ParseException, ParserInterface}
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.catalyst.types.DataTypeUtils.toAttributes
import org.apache.spark.sql.execution.SparkSqlParser
import org.apache.spark.sql.execution.command.LeafRunnableCommand
import org.apache.spark.sql.types.{DataType, StructType}
import org.json4s._

class TableStoreExtensions extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    extensions.injectParser { (session, delegate) =>
      PlannerProcess.begin(session.asInstanceOf[classic.SparkSession])
      ProgressBar.begin(session.sparkContext)
      new TableStoreParser(session.sparkContext, delegate)
    }
    VariantBytes.inject(extensions)
    extensions.injectHintResolutionRule(_ => IdentifierClauses)
    extensions.injectHintResolutionRule(session => new SessionViews(session))
    extensions.injectHintResolutionRule(session => new SessionTables(session))
    extensions.injectHintResolutionRule(session => new TemporaryTables(session))
    extensions.injectHintResolutionRule(session => new DefaultSourceElsewhere(session))
    extensions.injectHintResolutionRule(session => new WriteTargets(session))
    extensions.injectHintResolutionRule(session => new StreamWriters(session))
    extensions.injectHintResolutionRule(session => new CatalogListing(session))
    extensions.injectHintResolutionRule(_ => EventTimeWindows)
    extensions.injectResolutionRule(session => new ConnectorColumns(session))
    extensions.injectResolutionRule(_ => ConstraintStatement)
    extensions.injectResolutionRule(session => new AssignedVariables(session))
    extensions.injectPostHocResolutionRule(_ => SessionViewReferences)
    extensions.injectPostHocResolutionRule(_ => SealedSecrets)
    extensions.injectPostHocResolutionRule(session => new ViewSchemas(session))
    extensions.injectPostHocResolutionRule(_ => TableRules)
    extensions.injectPostHocResolutionRule(session => new StreamingStatements(session))
    extensions.injectPlanNormalizationRule(_ => RowLevelStatements)
    extensions.injectPlanNormalizationRule(_ => LaterInserts)
    extensions.injectPlanNormalizationRule(session => new BarrierReads(session))
    extensions.injectOptimizerRule(_ => TargetCopies)
    extensions.injectPlannerStrategy(session => new WriteStrategy(session))
    extensions.injectPlannerStrategy(session => new MaterializedViews(session))
    extensions.injectPlannerStrategy(_ => HeldRowsStrategy)
    extensions.injectPlannerStrategy(_ => AnsweredRowsStrategy)
    extensions.injectPlannerStrategy(_ => SessionViewStrategy)
    extensions.injectPlannerStrategy(session => new CatalogListingStrategy(session))
    extensions.injectPlannerStrategy(session => new ExtendedListing(session))
  }
}

/** Passes statements that may be ours to the planner, and all others directly to Spark's parser. */
class TableStoreParser(context: SparkContext, delegate: ParserInterface) extends ParserInterface {
  private def parsed(sql: String)(read: String => LogicalPlan): LogicalPlan = Redaction.ofStatement(context) {
    // Spark's parser fails with an assertion if the time of CHANGES is no literal.
    def spark(text: String): LogicalPlan =
      try ConstraintStatement.of(read(text), text)
      catch {
        case _: AssertionError if StatementFilter.asksForChanges(text) => throw Errors.unreadableTime
        case error: ParseException if error.getCondition == Errors.invalidTimeTravel => throw Errors.unreadableTime
      }
    if (StatementFilter.beginsSession(sql) && SessionCatalogMirror.isAskedFor) SessionCatalogMirror.refresh()
    if (!StatementFilter.maybeOurs(sql)) spark(sql)
    else PlannerProcess.ask(Requests.Parse(sql)) match {
      case text: Answers.SparkStatement => spark(text.sql)
      case command: Answers.PlannedCommand =>
        StatementCommand(command.name, command.command, command.schema, command.before.map(delegate.parsePlan))
    }
  }

  override def parsePlan(sql: String): LogicalPlan = parsed(sql)(delegate.parsePlan)

  /** Delta's parser (4.4.0) drops parameters, so unless `delegate` is Spark's own parser, their values are put into the
    * text here. */
  override def parsePlanWithParameters(sql: String, parameters: ParameterContext): LogicalPlan = delegate match {
    case spark: SparkSqlParser => parsed(sql)(spark.parsePlanWithParameters(_, parameters))
    case other => parsed(sql)(text => other.parsePlan(ParameterHandler.substituteParameters(text, parameters)._1))
  }
  override def parseExpression(text: String): Expression = delegate.parseExpression(text)
  override def parseTableIdentifier(text: String): TableIdentifier = delegate.parseTableIdentifier(text)
  override def parseFunctionIdentifier(text: String): FunctionIdentifier = delegate.parseFunctionIdentifier(text)
  override def parseMultipartIdentifier(text: String): Seq[String] = delegate.parseMultipartIdentifier(text)
  override def parseTableSchema(text: String): StructType = delegate.parseTableSchema(text)
  override def parseDataType(text: String): DataType = delegate.parseDataType(text)
  override def parseQuery(text: String): LogicalPlan = delegate.parseQuery(text)
  override def parseRoutineParam(text: String): StructType = delegate.parseRoutineParam(text)
}

/** A statement that Spark does not have; the planner runs it on execution, never during parsing. The rows of
  * `before`, a Spark statement, come before its own rows. */
case class StatementCommand(name: String, command: JValue, result: StructType, before: Option[LogicalPlan])
    extends LeafRunnableCommand {
  override val output: Seq[Attribute] = toAttributes(result)
  override def simpleString(maxFields: Int): String = s"TableStore $name"

  /** Plans show only the name, because the command may have a secret that Spark's redaction patterns do not find. */
  override protected def stringArgs: Iterator[Any] = Iterator(name)
  override def run(session: SparkSession): Seq[Row] = {
    val first =
      before.toSeq.flatMap(plan => classic.Dataset.ofRows(session.asInstanceOf[classic.SparkSession], plan).collect())
    val answer = PlannerProcess.ask(Requests.RunStatement(command))
    val toRow = CatalystTypeConverters.createToScalaConverter(result)
    first ++ Json.rows(answer).map(row => toRow(row).asInstanceOf[Row])
  }
}
