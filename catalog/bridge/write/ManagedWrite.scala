package org.apache.spark.sql.tablestore

import java.io.ByteArrayOutputStream

import scala.annotation.nowarn
import scala.jdk.CollectionConverters._

import org.apache.spark.rdd.PartitionPruningRDD
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.ProjectingInternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  Expression,
  InterpretedMutableProjection,
  PlanExpression,
  Unevaluable,
  UserDefinedExpression
}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.read.LocalScan
import org.apache.spark.sql.connector.write._
import org.apache.spark.sql.connector.write.streaming.StreamingWrite
import org.apache.spark.sql.execution.SparkPlan
import org.apache.spark.sql.execution.columnar.InMemoryRelation
import org.apache.spark.sql.execution.adaptive.{
  AdaptiveSparkPlanExec,
  BroadcastQueryStageExec,
  ResultQueryStageExec,
  ShuffleQueryStageExec
}
import org.apache.spark.sql.execution.arrow.{ArrowBatchStreamWriter, ArrowConverters}
import org.apache.spark.sql.execution.datasources.v2.{
  DataSourceV2Relation,
  DataSourceV2ScanRelation,
  LeafV2CommandExec,
  V2CommandExec,
  WriteToDataSourceV2
}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.execution.streaming.sources.MicroBatchWrite
import org.apache.spark.sql.internal.connector.SupportsStreamingUpdateAsAppend
import org.apache.spark.sql.types.StructType

/** A write with its mode and options. Rows do not pass through it: [[WriteStrategy]] gives the planner the query. */
case class ManagedWrite(table: String, request: Requests.Write, streaming: Option[StreamingWrite] = None)
    extends DeltaWrite {
  override def toStreaming: StreamingWrite = streaming.orNull
  override def description(): String = s"TableStoreWrite $table"
  override def toString: String = description()
}

class ManagedWriteBuilder(reference: Requests.TableReference, table: String, info: LogicalWriteInfo)
    extends WriteBuilder with SupportsOverwriteV2 with SupportsDynamicOverwrite with SupportsStreamingUpdateAsAppend {
  private val options =
    TableStoreFormat.withoutName(info.options.asCaseSensitiveMap.asScala.toMap, reference.relation.identifier)
  private var request = Requests.Write(reference, Requests.WriteMode.append, options = options)
  override def overwrite(predicates: Array[Predicate]): WriteBuilder = {
    request = request.copy(mode = Requests.WriteMode.overwrite, predicates = predicates.toSeq.map(Json.expression))
    this
  }
  override def truncate(): WriteBuilder = overwrite(Array.empty)
  override def overwriteDynamicPartitions(): WriteBuilder = {
    request = request.copy(mode = Requests.WriteMode.overwriteDynamic, predicates = Nil)
    this
  }
  private def streaming: StreamingWrite =
    new ManagedStreamingWrite(info.queryId, request.mode != Requests.WriteMode.append, options, reference)
  override def build(): Write = ManagedWrite(table, request, Some(streaming))
}

class ManagedDeltaWriteBuilder(
    reference: Requests.TableReference, table: String, command: String, info: LogicalWriteInfo)
    extends DeltaWriteBuilder {
  override def build(): DeltaWrite = ManagedWrite(table,
    Requests.Write(
      reference, Requests.WriteMode.delta, options = info.options.asCaseSensitiveMap.asScala.toMap,
      command = Some(command)))
}

@nowarn("msg=WriteToDataSourceV2 in package v2 is deprecated") // Spark plans micro-batches with it
class WriteStrategy(session: SparkSession) extends classic.Strategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case command: AppendData => planned(command, command.write, command.query)(identity)
    case command: OverwriteByExpression => planned(command, command.write, command.query)(identity)
    case command: OverwritePartitionsDynamic => planned(command, command.write, command.query)(identity)
    case command: InsertOnlyMerge =>
      planned(command, command.write, command.query)(_.copy(command = Some("MERGE")))
    case command: WriteDelta =>
      val projections = command.projections
      val upserts = MergeUpserts.rows(command.query, projections).filter(_ => MergeKeys.isAsGiven(command.table))
      planned(command, command.write, command.query, upserts)(_.copy(
          row = projections.rowProjection.map(ordinals), rowId = ordinals(projections.rowIdProjection)))
    case WriteToDataSourceV2(_, batch: MicroBatchWrite, query, metrics)
        if batch.writeSupport.isInstanceOf[ManagedStreamingWrite] =>
      new StreamWriteExec(batch, () => (), planLater(query), metrics, None) :: Nil
    case _ => Nil
  }
  private def ordinals(projection: ProjectingInternalRow): Seq[Int] = projection.colOrdinals.toSeq
  private def planned(
      command: V2WriteCommand, write: Option[Write], query: LogicalPlan, upserts: Option[LogicalPlan] = None)(
      complete: Requests.Write => Requests.Write): Seq[SparkPlan] =
    write match {
      case Some(ManagedWrite(table, request, _)) =>
        val statement = RowLevelStatements.of(command)
        val whole = complete(request).copy(upserts = upserts.isDefined,
          absentKeys = statement.exists(MergeKeys.areAbsent), onNewest = LaterInserts.is(command))
        WriteExec(table, whole, query, upserts, command.table, statement) :: Nil
      case _ => Nil
    }
}

object WriteQuery {

  /** With more rows in memory than so many, tasks beside each other are worth it. */
  private val keptMax = 10000

  /** So many bytes of them are no burden to the driver. */
  private val keptBytesMax = 16L << 20

  /** A plan in which scans whose rows the planner has answered are replaced by these rows. */
  def withKnownRows(optimized: LogicalPlan): LogicalPlan = optimized.transform {
    case scanned: DataSourceV2ScanRelation if scanned.scan.isInstanceOf[LocalScan] =>
      HeldRows.of(scanned.output, scanned.scan.asInstanceOf[LocalScan].rows().toSeq)
  }
}

/** The query of a write statement, which the planner runs, or its rows if the optimizer has computed them. */
class WriteQuery(session: classic.SparkSession, query: LogicalPlan, upserting: Option[LogicalPlan] = None) {

  /** The query of a MERGE's rows without its target; valid if the source has each key once. */
  def upserts(): WriteQuery = new WriteQuery(session, upserting.get)

  /** The query, to which the planner adds columns; scans whose rows are known are replaced by these rows. */
  def frame(): classic.DataFrame = {
    val narrowed = MergeTargets.narrowed(query, session.sessionState.conf.autoBroadcastJoinThreshold)
    classic.Dataset.ofRows(session, WriteQuery.withKnownRows(narrowed))
  }

  /** An estimate of the size of the rows, about the maximum; 0 if the cost of running a part of the query twice is
    * unknown. */
  def repeatableBytes(): Long = if (query.exists(isUsersOwn)) 0 else toLong(query.stats.sizeInBytes)
  private def isUsersOwn(plan: LogicalPlan): Boolean = plan match {
    case leaf: LeafNode => !MergeTargets.isSameEachTime(leaf)
    case _: ObjectProducer | _: ObjectConsumer | _: ScriptTransformation => true
    case other => other.expressions.exists(_.exists(_.isInstanceOf[UserDefinedExpression]))
  }

  /** The rows of a frame, which can be read twice without repeating the shuffles and broadcasts. */
  def staged(frame: classic.DataFrame): classic.DataFrame =
    if (frame.queryExecution.executedPlan.exists(node =>
        node.isInstanceOf[AdaptiveSparkPlanExec] || node.isInstanceOf[Exchange]))
      session.internalCreateDataFrame(frame.queryExecution.toRdd, frame.schema)
    else frame

  /** The size of the input that a read of a [[staged]] frame reads: files, tables and shuffled rows. */
  def readBytes(frame: classic.DataFrame): Long = toLong(frame.queryExecution.executedPlan match {
    case adaptive: AdaptiveSparkPlanExec => readBytes(adaptive.executedPlan)
    case _ => sourceBytes(frame.queryExecution.optimizedPlan)
  })
  private def readBytes(plan: SparkPlan): BigInt = plan.collectLeaves().map {
    case result: ResultQueryStageExec => readBytes(result.plan)
    case shuffled: ShuffleQueryStageExec => shuffled.getRuntimeStatistics.sizeInBytes
    case _: BroadcastQueryStageExec => BigInt(0)
    case leaf => leaf.logicalLink.map(sourceBytes).getOrElse(BigInt(0))
  }.sum
  private def sourceBytes(plan: LogicalPlan): BigInt = plan.collectLeaves().map(_.stats.sizeInBytes).sum
  private def toLong(size: BigInt): Long = size.min(Long.MaxValue).toLong

  def partitionCount(frame: classic.DataFrame): Int = frame.queryExecution.toRdd.getNumPartitions

  /** Every `step`th partition of a frame. */
  def everyNth(frame: classic.DataFrame, step: Int): classic.DataFrame =
    session.internalCreateDataFrame(PartitionPruningRDD.create(frame.queryExecution.toRdd, _ % step == 0), frame.schema)

  /** The number of tasks of a frame whose plan is a single stage; 0 if it shuffles or broadcasts. */
  def taskCount(frame: classic.DataFrame): Int = frame.queryExecution.executedPlan match {
    case plan if plan.exists(node => node.isInstanceOf[AdaptiveSparkPlanExec] || node.isInstanceOf[Exchange]) => 0
    case _ => partitionCount(frame)
  }

  /** An Arrow stream of the query's rows in their order; null if they have to be computed, or if there are more than
    * `max`. Few rows that Spark keeps in memory are known, too: to fetch them takes less than to write them where they
    * are. */
  def rows(max: Int): Array[Byte] = computed(query, max)

  /** Like [[rows]], for a frame that the planner derived from [[frame]]. */
  def rowsOf(frame: classic.DataFrame, max: Int): Array[Byte] = computed(frame.queryExecution.optimizedPlan, max)

  private def computed(plan: LogicalPlan, max: Int): Array[Byte] = HeldRows.folded(plan) match {
    case HeldRows.In(_, rows) if rows.size <= max => stream(rows, plan.schema)
    case Project(columns, _: OneRowRelation) if columns.forall(known) =>
      val row = new InterpretedMutableProjection(columns, Nil)
      stream(Seq(row(InternalRow.empty)), plan.schema)
    case kept if isFewKept(kept, max) =>
      val execution = classic.Dataset.ofRows(session, kept).queryExecution
      stream(execution.executedPlan.executeCollect().toSeq, plan.schema)
    case _ => null
  }

  private def isFewKept(plan: LogicalPlan, max: Int): Boolean = plan match {
    case kept: InMemoryRelation =>
      kept.cacheBuilder.isCachedColumnBuffersLoaded && kept.stats.sizeInBytes <= WriteQuery.keptBytesMax &&
      kept.stats.rowCount.exists(_ <= max.min(WriteQuery.keptMax))
    case Project(columns, child) => columns.forall(isPlain) && isFewKept(child, max)
    case Filter(condition, child) => isPlain(condition) && isFewKept(child, max)
    case _ => false
  }
  private def isPlain(column: Expression): Boolean =
    column.deterministic && !column.exists {
      case _: PlanExpression[_] | _: UserDefinedExpression => true
      case _ => false
    }
  private def known(column: Expression): Boolean =
    column.deterministic && !column.exists(part =>
      part.isInstanceOf[PlanExpression[_]] || part.isInstanceOf[Unevaluable])

  private def stream(data: Seq[InternalRow], schema: StructType): Array[Byte] = {
    val out = new ByteArrayOutputStream()
    val writer = new ArrowBatchStreamWriter(schema, out, "UTC", false, false)
    writer.writeBatches(ArrowConverters.toBatchIterator(data.iterator, schema, 0, "UTC", false, false, null))
    writer.end()
    out.toByteArray
  }
}

/** Passes the query to the planner, which runs it and commits its rows. */
case class WriteExec(table: String, request: Requests.Write, query: LogicalPlan, upserts: Option[LogicalPlan],
    target: LogicalPlan, statement: Option[V2WriteCommand] = None)
    extends V2CommandExec with LeafV2CommandExec {
  override def output: Seq[Attribute] = Nil
  override def simpleString(maxFields: Int): String = s"TableStoreWrite $table"

  /** EXPLAIN shows the query that is read, and not the request. */
  override def innerChildren: Seq[LogicalPlan] = Seq(upserts.getOrElse(query))
  override protected def stringArgs: Iterator[Any] = Iterator(table)
  override lazy val metrics: Map[String, SQLMetric] = WriteMetrics.of(sparkContext)
  override protected def run(): Seq[InternalRow] = { WriteMetrics.post(sparkContext, metrics, write()); Nil }

  /** Writes and commits the rows; returns what was written. */
  def write(): Answers.WrittenRows = statement match {
    case Some(known) => new RowLevelRepeats(active, known).orRepeated(writeOnce())
    case None => writeOnce()
  }
  private def active: classic.SparkSession = session.asInstanceOf[classic.SparkSession]

  /** The same; a commit of others that is in the way is an error. */
  def writeOnce(): Answers.WrittenRows = {
    val rows = new WriteQuery(active, query, upserts)
    val answer =
      if (PipelineWrites.areAwaited(request)) PlannerProcess.ask(
        Requests.ReplaceRows(request.table, request.options), rows)
      else PlannerProcess.ask(request, rows)
    target match {
      // By name, as Spark's own writes do, because the cached plan reads another snapshot than `target`.
      case DataSourceV2Relation(_, _, Some(catalog), Some(ident), _, _) => active.sharedState.cacheManager
          .recacheTableOrView(active, catalog.name +: ident.namespace.toSeq :+ ident.name, includeTimeTravel = false)
      case other => active.sharedState.cacheManager.recacheByPlan(active, other)
    }
    answer
  }
}
