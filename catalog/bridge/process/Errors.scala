package org.apache.spark.sql.tablestore

import java.io.{File, FileNotFoundException, InterruptedIOException}
import java.net.{SocketException, UnknownHostException}
import java.nio.file.AccessDeniedException

import org.apache.hadoop.fs.UnsupportedFileSystemException
import org.apache.hadoop.security.AccessControlException
import org.apache.spark.QueryContext
import org.apache.spark.sql.AnalysisException
import org.apache.spark.sql.catalyst.analysis._
import org.apache.spark.sql.connector.catalog.Identifier
import org.apache.spark.sql.types.StructType

/** An error of the planner with its complete text: "[CONDITION] what, where, what to do. SQLSTATE: …". */
class TableStoreException(text: String, condition: String, state: String, cause: Option[Throwable] = None)
    extends AnalysisException(text, None, None, cause, Some(condition), Map.empty[String, String],
      Array.empty[QueryContext]) {
  override def getSqlState: String = state
  override def getMessage: String = text

  /** Whether the error has this condition; `name` is without the prefix `TABLE_STORE_`. */
  def is(name: String): Boolean = condition == s"TABLE_STORE_$name"
}

object Errors {
  def fromPlanner(error: Answers.Failure): Throwable =
    new TableStoreException(error.message, error.condition, error.sqlState)

  /** Spark's own exceptions for loading an unknown name: Spark's statements expect them from a catalog. */
  def ofLoading[T](ident: Identifier)(answer: => T): T =
    try answer
    catch { case error: TableStoreException if error.is("RELATION_NOT_FOUND") => throw new NoSuchTableException(ident) }

  /** Spark's own exceptions for creating or replacing a table or view. */
  def ofDefining[T](ident: Identifier, isView: Boolean = false)(answer: => T): T =
    ofRenaming(ident, ident, isView)(answer)

  /** Spark's own exceptions for renaming a table or view. */
  def ofRenaming[T](from: Identifier, to: Identifier, isView: Boolean = false)(answer: => T): T =
    try answer
    catch {
      case error: TableStoreException if error.is("NAMESPACE_NOT_FOUND") =>
        throw new NoSuchNamespaceException(to.namespace)
      case error: TableStoreException if error.is("NOT_FOUND") || error.is("RELATION_NOT_FOUND") =>
        throw (if (isView) new NoSuchViewException(from) else new NoSuchTableException(from))
      case error: TableStoreException if error.is("ALREADY_EXISTS") =>
        throw (if (isView) new ViewAlreadyExistsException(to) else new TableAlreadyExistsException(to))
    }

  /** Spark's own exceptions for requests about a namespace. */
  def ofNamespace[T](namespace: Array[String])(answer: => T): T =
    try answer
    catch {
      case error: TableStoreException if error.is("NAMESPACE_NOT_FOUND") =>
        throw new NoSuchNamespaceException(namespace)
      case error: TableStoreException if error.is("NAMESPACE_ALREADY_EXISTS") =>
        throw new NamespaceAlreadyExistsException(namespace)
      case error: TableStoreException if error.is("NAMESPACE_NOT_EMPTY") =>
        throw new NonEmptyNamespaceException(namespace)
    }

  private val own = """(?s)\[(TABLE_STORE_[A-Z_]+)\] .*? SQLSTATE: (\w{5})""".r.unanchored

  /** Spark 4.2's condition for an invalid time in VERSION or TIMESTAMP AS OF. */
  val invalidTimeTravel = "_LEGACY_ERROR_TEMP_0056"

  /** The error of a Python worker: if it is one of ours, on one line and without the stack trace. A worker passes Spark
    * only the text of its stack trace, and a reading task's rows have no place for an error. */
  def fromWorker(error: Throwable): Throwable =
    own.findAllMatchIn(String.valueOf(error.getMessage)).toSeq.lastOption.map(found =>
      new TableStoreException(found.matched.linesIterator.map(_.trim).mkString(" "), found.group(1),
        found.group(2)): Throwable)
      .getOrElse(error)

  /** A data file that Spark's Parquet reader could not read: it is gone, cannot be reached, or is damaged. An error of
    * analysis is about what was asked for, not about the file. */
  def unreadable(path: String, snapshot: Option[Long], cause: Throwable): Throwable = {
    val causes = Iterator.iterate(cause)(_.getCause).takeWhile(_ != null).take(10).toSeq
    causes.collectFirst { case error: AnalysisException => error }.getOrElse(unreadable(path, snapshot, causes))
  }

  private def unreadable(path: String, snapshot: Option[Long], causes: Seq[Throwable]): TableStoreException = {
    val reason = reasonOf(causes)
    val file = s"File '$path'${snapshot.map(id => s" of snapshot $id").getOrElse("")}"
    val remedy =
      "Restore the file from a copy, or read an older snapshot with VERSION AS OF and roll back to it with " +
        "CALL sys.rollback."
    val (condition, state, text) =
      if (causes.exists(isOfAccess)) ("TABLE_STORE_FILE_ACCESS", "58030",
        s"$file could not be read: $reason. See to the file system (class path, credentials, permissions, network) " +
          "and run the query again.")
      else if (causes.exists(_.isInstanceOf[FileNotFoundException]))
        ("TABLE_STORE_MISSING_FILE", "KD001", s"$file does not exist. $remedy")
      else ("TABLE_STORE_CORRUPT_FILE", "KD001", s"$file is damaged: $reason. $remedy")
    new TableStoreException(s"[$condition] $text SQLSTATE: $state", condition, state)
  }

  /** The first line of what the deepest cause with a message says, as part of a sentence. */
  private def reasonOf(causes: Seq[Throwable]): String = {
    val lines = causes.reverse.flatMap(cause => Option(cause.getMessage).flatMap(_.linesIterator.find(!_.isBlank)))
    lines.headOption.getOrElse(causes.last.getClass.getSimpleName).trim.stripSuffix(".")
  }

  /** Whether the file system refused or could not be asked, which says nothing about the file. */
  private def isOfAccess(cause: Throwable): Boolean = cause match {
    case _: ClassNotFoundException | _: UnsupportedFileSystemException => true
    case _: AccessDeniedException | _: AccessControlException => true
    case _: SocketException | _: UnknownHostException | _: InterruptedIOException => true
    case local: FileNotFoundException => String.valueOf(local.getMessage).contains("(Permission denied)")
    case _ => false
  }

  def plannerFailed(python: String, log: File): Throwable = new TableStoreException(
    s"[TABLE_STORE_PLANNER_NOT_STARTED] The planner did not start with `$python -m table_store.planner`. " +
      s"Run `table-store doctor`, and see $log. SQLSTATE: 58000",
    "TABLE_STORE_PLANNER_NOT_STARTED",
    "58000"
  )

  def invalidLogFormat(format: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_OPTION] Option 'spark.tablestore.planner.log.format' = '$format' is not valid: " +
      "use text or json. SQLSTATE: 42616",
    "TABLE_STORE_INVALID_OPTION",
    "42616"
  )

  def plannerLost(request: String, cause: Throwable): Throwable = new TableStoreException(
    s"[TABLE_STORE_PLANNER_LOST] The planner process ended while it worked on '$request'. What was committed is " +
      "whole, what was not is invisible; look whether the statement took effect, then repeat it. " +
      "The session goes on with a new planner. SQLSTATE: 58000",
    "TABLE_STORE_PLANNER_LOST",
    "58000",
    Some(cause)
  )

  def computedColumn(name: String, expression: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_COMPUTED_COLUMN] Column '$name' is computed as $expression: it is never listed or assigned. " +
      "Leave it out. SQLSTATE: 428C9",
    "TABLE_STORE_COMPUTED_COLUMN",
    "428C9"
  )

  def overwrittenAgain(table: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_REPEATED_WRITE] An INSERT OVERWRITE of $table would replace it by what it held before an earlier " +
      "INSERT of the same statement. Nothing was written; make them statements of their own. SQLSTATE: 0A000",
    "TABLE_STORE_REPEATED_WRITE",
    "0A000"
  )

  def declaredColumns(declared: Seq[String], query: StructType): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_SCHEMA] The materialized view declares ${declared.mkString(", ")}, and its query returns " +
      s"${query.fields.map(field => s"${field.name} ${field.dataType.sql}").mkString(", ")}. Declare as many columns, " +
      "with these types. SQLSTATE: 42611",
    "TABLE_STORE_INVALID_SCHEMA",
    "42611"
  )

  def subqueryInCheck(name: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid: constraint $name has a subquery. " +
      "SQLSTATE: 42611",
    "TABLE_STORE_INVALID_SCHEMA",
    "42611"
  )

  def noChangeTypeColumn(name: String, columns: Seq[String]): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_OPTION] Option '${WriteTargets.option}' = '$name' is not valid: the query has no such column, " +
      s"only ${columns.mkString(", ")}. SQLSTATE: 42616",
    "TABLE_STORE_INVALID_OPTION",
    "42616"
  )

  def jobEnded(name: String, reason: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_JOB_ENDED] Job $name has ended: $reason Mend what it names, then run the INSERT again, which resumes " +
      "the job where it was. SQLSTATE: 58000",
    "TABLE_STORE_JOB_ENDED",
    "58000"
  )

  def noCheckpoint(table: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_NO_CHECKPOINT] A stream that writes $table needs a checkpoint: its rows become visible with each " +
      "checkpoint, without one there would be no output, or rows twice after a restart. Set option " +
      "'checkpointLocation' to a folder of this query's own, or spark.sql.streaming.checkpointLocation. SQLSTATE: 42000",
    "TABLE_STORE_NO_CHECKPOINT",
    "42000"
  )

  def invalidDefault(column: String, default: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_TEXT] The default $default of column '$column' has a text that is not UTF-8. Give the column " +
      "the type BINARY, or replace invalid bytes with make_valid_utf8(...). SQLSTATE: 22021",
    "TABLE_STORE_INVALID_TEXT",
    "22021"
  )

  def unreadableTime: Throwable = new TableStoreException(
    "[TABLE_STORE_SYNTAX_ERROR] Spark cannot read the TIMESTAMP in this statement: it names a column, or is no literal " +
      "where CHANGES needs one. Use a literal such as TIMESTAMP '2026-01-31 12:00:00'. SQLSTATE: 42601",
    "TABLE_STORE_SYNTAX_ERROR",
    "42601"
  )

  def noCatalogFor(connector: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_NO_CATALOG] The format '$connector' is read with the help of a catalog of tables, and neither the " +
      "current catalog nor spark_catalog of this session is one. USE such a catalog, or start Spark with " +
      "spark.sql.catalog.spark_catalog=org.apache.spark.sql.tablestore.TableStoreCatalog. SQLSTATE: 42704",
    "TABLE_STORE_NO_CATALOG",
    "42704"
  )

  def noTableName(said: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_IDENTIFIER] The format '${TableStoreFormat.name}' takes a table's name, such as " +
      s"load('orders') or load('shop.orders'), and '$said' is none. SQLSTATE: 42602",
    "TABLE_STORE_INVALID_IDENTIFIER",
    "42602"
  )

  def notOfFormat(table: String, kind: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_WRONG_RELATION_KIND] The format '${TableStoreFormat.name}' is that of managed tables alone, and $table " +
      s"is $kind. Use it by its name without a format, or put a catalog of managed tables before it. SQLSTATE: 42809",
    "TABLE_STORE_WRONG_RELATION_KIND",
    "42809"
  )

  def onlyRead(connector: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_EXTERNAL_TABLE] The format '$connector' is only read. To write there, create a table WITH " +
      s"('connector' = '$connector', …) if that connector has sinks, and INSERT INTO it. SQLSTATE: 0A000",
    "TABLE_STORE_EXTERNAL_TABLE",
    "0A000"
  )

  def connectorAsProvider(connector: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid: '$connector' is a connector, and USING names a " +
      s"format of files. Leave USING out, and say WITH ('connector' = '$connector', …). SQLSTATE: 42611",
    "TABLE_STORE_INVALID_SCHEMA",
    "42611"
  )

  def windowFunction(function: String, problem: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_WINDOW_FUNCTION] $function cannot make windows: $problem. SQLSTATE: 22023",
    "TABLE_STORE_WINDOW_FUNCTION",
    "22023"
  )

  def partitionsAreData(table: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_PARTITION_NOT_EXPLICIT] Partitions of $table come and go with their rows: insert rows instead of " +
      "adding a partition. SQLSTATE: 0A000",
    "TABLE_STORE_PARTITION_NOT_EXPLICIT",
    "0A000"
  )

  def foreignPartitioning(transform: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_UNSUPPORTED_PARTITIONING] $transform is no partitioning for a table USING a format of Spark's: " +
      "name its columns. SQLSTATE: 0A000",
    "TABLE_STORE_UNSUPPORTED_PARTITIONING",
    "0A000"
  )

  /** @param kind whose rows the table has, such as `a table USING csv` */
  def withoutVersions(table: String, kind: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_TIME_TRAVEL_NOT_SUPPORTED] $table is $kind, which keeps no older versions. SQLSTATE: 0A000",
    "TABLE_STORE_TIME_TRAVEL_NOT_SUPPORTED",
    "0A000"
  )

  def missingColumn(table: String, column: String, known: Seq[String]): Throwable = new TableStoreException(
    s"[TABLE_STORE_INVALID_SCHEMA] The table definition is not valid at column '$column': what Spark reads for $table " +
      s"has no such column, but ${known.mkString(", ")}. Create the table with these. SQLSTATE: 42611",
    "TABLE_STORE_INVALID_SCHEMA",
    "42611"
  )

  def unreadableSource(table: String, format: String, reason: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_SOURCE_NOT_READABLE] Spark cannot read $table by the format '$format': $reason. See to the options " +
      "of the table and to what is there. SQLSTATE: 58030",
    "TABLE_STORE_SOURCE_NOT_READABLE",
    "58030"
  )

  def noStream(format: String): Throwable = new IllegalArgumentException(
    s"the format '$format' is none that Spark reads in micro-batches by a source of version 2")
  def forgetfulStream: Throwable =
    new IllegalArgumentException("it holds its rows in memory alone, and reads none again after a crash")

  def foreignAlter(provider: String): Throwable = new TableStoreException(
    s"[TABLE_STORE_ALTER_NOT_SUPPORTED] Of a table USING $provider only properties and comments can be changed and " +
      "nullable columns added at the end. SQLSTATE: 0A000",
    "TABLE_STORE_ALTER_NOT_SUPPORTED",
    "0A000"
  )
}
