package org.apache.spark.sql.tablestore

import java.util.{Base64, OptionalLong}

import scala.jdk.CollectionConverters._
import scala.util.control.NonFatal

import org.apache.commons.lang3.StringUtils
import org.apache.spark.paths.SparkPath
import org.apache.spark.scheduler.ExecutorCacheTaskLocation
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Expression => CatalystExpression, UnsafeRow, UserDefinedExpression}
import org.apache.spark.sql.catalyst.plans.logical.{Filter, LogicalPlan, Project}
import org.apache.spark.sql.classic.{SparkSession, Strategy}
import org.apache.spark.sql.connector.expressions.{Expression, Expressions, NamedReference}
import org.apache.spark.sql.connector.expressions.aggregate.{Aggregation, CountStar, Max, Min}
import org.apache.spark.sql.connector.expressions.filter.Predicate
import org.apache.spark.sql.connector.metric.CustomMetric
import org.apache.spark.sql.connector.read._
import org.apache.spark.sql.connector.read.partitioning.{KeyGroupedPartitioning, Partitioning, UnknownPartitioning}
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream
import org.apache.spark.sql.execution.{LocalTableScanExec, SparkPlan}
import org.apache.spark.sql.execution.datasources.PartitionedFile
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2ScanRelation
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StringType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

class ManagedScanBuilder(
    reference: Requests.TableReference, table: String, schema: StructType, options: CaseInsensitiveStringMap)
    extends ScanBuilder with SupportsPushDownRequiredColumns with SupportsPushDownV2Filters with SupportsPushDownLimit
    with SupportsPushDownAggregates {
  private val stated = options.asCaseSensitiveMap.asScala.toMap
  private var required = schema
  private var predicates = Array.empty[Predicate]
  private var limit: Option[Int] = None

  override def pruneColumns(columns: StructType): Unit = required = columns

  /** Spark evaluates all predicates again: here they only prune files, row groups and merged batches. The planner and
    * Parquet's filters have no text that is not UTF-8. */
  override def pushPredicates(pushed: Array[Predicate]): Array[Predicate] = {
    predicates = pushed.filter(predicate =>
      !InvalidText.isIn(predicate) &&
        predicate.references.forall(column => isComparedAsBytes(column.fieldNames.head)))
    pushed
  }

  /** Whether the column has no texts with a collation, which storage does not support: it compares bytes. */
  private def isComparedAsBytes(column: String): Boolean = !schema.fields.filter(_.name == column)
    .exists(_.dataType.existsRecursively { case text: StringType => !text.isUTF8BinaryCollation; case _ => false })
  override def pushedPredicates(): Array[Predicate] = Array.empty
  override def pushLimit(rows: Int): Boolean = { limit = Some(rows); true }
  override def isPartiallyPushed: Boolean = true

  /** The last aggregation and the planner's answer, None if data must be read; kept because Spark asks twice. */
  private var aggregates: Option[(Aggregation, Option[Answers.AggregateRow])] = None

  private def answered(aggregation: Aggregation): Option[Answers.AggregateRow] = aggregates match {
    case Some((asked, answer)) if asked eq aggregation => answer
    case _ =>
      val functions = aggregation.aggregateExpressions.toList.map {
        case _: CountStar => Some(Requests.AggregateFunction("count"))
        case min: Min => named("min", min.column)
        case max: Max => named("max", max.column)
        case _ => None
      }
      val answer =
        if (aggregation.groupByExpressions.nonEmpty || functions.contains(None)) None
        else PlannerProcess.ask(Requests.ExactAggregates(reference, functions.flatten, stated))
      aggregates = Some(aggregation -> answer)
      answer
  }
  private def named(function: String, column: Expression): Option[Requests.AggregateFunction] = column match {
    case named: NamedReference if isComparedAsBytes(named.fieldNames.head) =>
      Some(Requests.AggregateFunction(function, Some(named.fieldNames.toSeq)))
    case _ => None
  }
  override def supportCompletePushDown(aggregation: Aggregation): Boolean = answered(aggregation).nonEmpty
  override def pushAggregation(aggregation: Aggregation): Boolean = {
    val isPushed = supportCompletePushDown(aggregation)
    if (!isPushed) aggregates = None
    isPushed
  }

  override def build(): Scan = aggregates match {
    case Some((_, Some(answer))) => new RowsScan(table, answer.schema, answer.rows)
    case _ => planned()
  }
  private def planned(): Scan = {
    val asked = Requests.AskedScan(
      reference,
      required.fieldNames.toSeq,
      required.json,
      predicates.toSeq.map(Json.expression),
      limit,
      stated,
      SparkSession.active.leafNodeDefaultParallelism,
      SQLConf.get.getConfString(ManagedScan.answeredRows, "0").toInt
    )
    // Planned now only if the planner may answer with rows: of a system table, or those that predicates on the key
    // select.
    if (predicates.isEmpty && !reference.isSystemTable && asked.answeredRows == 0)
      new ManagedScan(asked, table, required, predicates)
    else PlannerProcess.ask(Requests.PlanScan(asked)) match {
      case rows: Answers.ArrowRows => new RowsScan(table, required, rows)
      case plan: Answers.PlannedScan => new ManagedScan(asked, table, required, predicates, Some(plan))
    }
  }
}

/** Rows that the planner has answered itself: of system tables, lookups by key and aggregates. */
class RowsScan(table: String, override val readSchema: StructType, answer: Answers.ArrowRows) extends LocalScan
    with SupportsReportStatistics {
  private lazy val answered = Json.rows(answer)
  override def description(): String = s"TableStoreRows $table"
  override def rows(): Array[InternalRow] = answered

  /** Known exactly: a join broadcasts the rows that were looked up, and not the other side. */
  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): OptionalLong =
      OptionalLong.of(answered.collect { case row: UnsafeRow => row.getSizeInBytes.toLong }.sum)
    override def numRows(): OptionalLong = OptionalLong.of(answered.length)
  }
}

/** Plans projections and filters of few such rows as what they make of them, which takes no Spark job. */
object AnsweredRowsStrategy extends Strategy {
  private val fewRows = 1000

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (!isOverRows(plan)) Nil
    else
      try HeldRows.folded(WriteQuery.withKnownRows(plan)) match {
          case HeldRows.In(output, rows) => LocalTableScanExec(output, rows, None) :: Nil
          case _ => Nil
        }
      catch { case NonFatal(_) => Nil } // an error of a row is that of the query when it runs

  private def isOverRows(plan: LogicalPlan): Boolean = plan match {
    case Project(columns, child) => isOverRows(child) && columns.forall(isPlain)
    case Filter(condition, child) => isOverRows(child) && isPlain(condition)
    case relation: DataSourceV2ScanRelation => relation.scan match {
        case scan: RowsScan => scan.rows().length <= fewRows
        case _ => false
      }
    case _ => false
  }

  /** Whether it may be evaluated while the query is planned, which EXPLAIN does, too. */
  private def isPlain(column: CatalystExpression): Boolean =
    column.deterministic && !column.exists(_.isInstanceOf[UserDefinedExpression])
}

/** A scan, which is planned when a batch query first needs its plan. A scan that becomes a stream is never planned as a
  * whole: each micro-batch is planned separately. */
class ManagedScan(asked: Requests.AskedScan, table: String, override val readSchema: StructType,
    predicates: Array[Predicate], planned: Option[Answers.PlannedScan] = None) extends Scan with Batch
    with SupportsReportStatistics
    with SupportsReportPartitioning {
  private lazy val plan = planned.getOrElse(PlannerProcess.ask(Requests.PlanScan(asked)) match {
    case plan: Answers.PlannedScan => plan
    case _: Answers.ArrowRows => throw new IllegalStateException(s"rows for a scan of $table without predicates")
  })
  private lazy val raw = plan.raw.map(ManagedScan.rawSplits).getOrElse(Array.empty)
  private lazy val splits = plan.splits.map(ManagedScan.workerSplit)
  private lazy val shownFilters = predicates.map(ManagedScan.shown).mkString(", ")
  private var isStream = false

  override def toMicroBatchStream(checkpointLocation: String): MicroBatchStream = {
    isStream = true
    new ManagedStream(
      asked, table, checkpointLocation,
      (task: Answers.PythonTask) => ManagedScan.readers(readSchema, Array.empty, Some(task), None, None))
  }

  override def description(): String =
    if (isStream) s"TableStoreStream $table [${readSchema.fieldNames.mkString(", ")}]"
    else
      s"TableStoreScan $table [${readSchema.fieldNames.mkString(", ")}] snapshot ${plan.snapshot.getOrElse("-")}, " +
        s"${raw.length} raw and ${splits.size} merge splits, ${plan.files} files, " +
        s"filters [$shownFilters]"
  override def toBatch: Batch = this
  override def supportedCustomMetrics(): Array[CustomMetric] = ReadCounts.metrics
  override def estimateStatistics(): Statistics = new Statistics {
    override def sizeInBytes(): OptionalLong = known(plan.sizeBytes)
    override def numRows(): OptionalLong = known(plan.rows)
  }

  /** Unknown of what cannot be read, which whoever reads it is told: DESCRIBE EXTENDED asks, too, of tables that only
    * take rows, or never end. */
  private def known(number: => Long): OptionalLong =
    if (isStream) OptionalLong.empty
    else
      try OptionalLong.of(number)
      catch { case _: TableStoreException => OptionalLong.empty }

  /** Reports buckets, so that joins and aggregations by the key need no shuffle. Spark groups the splits of a bucket
    * into one task only if that saves a shuffle; a plain scan keeps one task per split. */
  override def outputPartitioning(): Partitioning = plan.bucketedBy match {
    case Some(by) if !isStream =>
      new KeyGroupedPartitioning(Array(Expressions.bucket(by.buckets, by.column)), by.buckets)
    case _ => new UnknownPartitioning(0)
  }

  /** Assigns merge splits to executors in turn, so that a split that is read again goes to the executor that knows its
    * live rows. */
  override def planInputPartitions(): Array[InputPartition] = {
    LongReads.begin(asked.table, plan.snapshot)
    val executors = if (splits.isEmpty) Array.empty[String] else ManagedScan.executors()
    val merges = splits.zipWithIndex.map {
      case (merge, i) if merge.live.nonEmpty && executors.nonEmpty =>
        merge.copy(executor = Some(executors(i % executors.length)))
      case (merge, _) => merge
    }
    (raw: Array[InputPartition]) ++ merges
  }

  private lazy val readers = ManagedScan.readers(readSchema, predicates, plan.task, plan.live, plan.snapshot)
  override def createReaderFactory(): PartitionReaderFactory = readers
}

object ManagedScan {

  /** A setting of sessions whose queries over few rows should need no Spark job: how many are few. */
  val answeredRows = "spark.table-store.answered-rows"

  /** A condition in the text of a plan, which Spark makes for each of its states. */
  def shown(condition: Predicate): String =
    if (condition.children.length > manyValues)
      s"${condition.children.head} ${condition.name} (${condition.children.length - 1} values)"
    else StringUtils.abbreviate(condition.toString, 200)
  private val manyValues = 100

  def workerSplit(split: Answers.WorkerSplit): MergeSplit =
    MergeSplit(split.bucket, Base64.getDecoder.decode(split.payload), split.live)

  /** Raw splits from the answer's rows, which are parts of files, ordered by split; a plan may have 100,000 rows. */
  def rawSplits(raw: Answers.RawSplits): Array[InputPartition] = {
    val splits = Array.newBuilder[InputPartition]
    val files = Array.newBuilder[FileRange]
    var split, bucket = -1
    def end(): Unit = if (split >= 0) { splits += RawSplit(bucket, files.result()); files.clear() }
    Json.eachRow(raw.parts) { row =>
      if (row.getInt(0) != split) end()
      split = row.getInt(0)
      bucket = row.getInt(1)
      files += FileRange(raw.root, row.getUTF8String(2).toString, row.getLong(3), row.getLong(4), row.getLong(5))
    }
    end()
    splits.result()
  }

  /** The executors other than the driver, by the names that Spark's scheduler uses, in a stable order. */
  private def executors(): Array[String] = {
    val context = SparkSession.active.sparkContext
    if (context.isLocal) Array.empty
    else context.env.blockManager.master.getMemoryStatus.keys.filterNot(_.isDriver)
      .map(id => ExecutorCacheTaskLocation(id.host, id.executorId).toString).toArray.sorted
  }

  /** The factory of readers on executors. `task` is the task of Python workers and `live` finds live rows; they are
    * None if no split needs them. */
  def readers(schema: StructType, predicates: Array[Predicate], task: Option[Answers.PythonTask],
      live: Option[Answers.LiveRows], snapshot: Option[Long]): PartitionReaderFactory = {
    val session = SparkSession.active
    val settings = PythonTask.settings(session)
    ManagedReaderFactory(
      schema,
      ParquetReaders.factory(session, schema, predicates),
      task.map(PythonTask(_, settings)),
      live.map(found => LiveRowsTask(PythonTask(found.task, settings), found.atFirst)),
      snapshot
    )
  }
}

/** Part of a file; the text of `root` is shared by the files of a table. */
case class FileRange(root: String, name: String, start: Long, length: Long, size: Long) {
  def path: String = root + name
  def toSpark: PartitionedFile =
    PartitionedFile(InternalRow.empty, SparkPath.fromPathString(path), start, length, fileSize = size)
}

/** What one task reads; its files belong to one bucket if the scan reports buckets. */
sealed trait BucketSplit extends InputPartition with HasPartitionKey {
  def bucket: Int
  override def partitionKey(): InternalRow = InternalRow(bucket)
}
case class RawSplit(bucket: Int, files: Array[FileRange]) extends BucketSplit

/** A split for a merge; `live` identifies its live rows if Spark can read these file by file instead. */
case class MergeSplit(bucket: Int, payload: Array[Byte], live: Option[String], executor: Option[String] = None)
    extends BucketSplit {
  override def preferredLocations(): Array[String] = executor.toArray
}
