package org.apache.spark.sql.tablestore

import java.util.{HashMap, Map => JMap}

import scala.jdk.CollectionConverters._

import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.expressions.{Expression, Literal, NamedReference}
import org.apache.spark.sql.connector.expressions.filter.{And, Not, Or, Predicate}
import org.apache.spark.sql.execution.datasources.v2.parquet.{ParquetPartitionReaderFactory, ParquetScan}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.internal.connector.PredicateUtils
import org.apache.spark.sql.sources.Filter
import org.apache.spark.sql.types.{DoubleType, FloatType, StructType}
import org.apache.spark.sql.util.CaseInsensitiveStringMap

import org.apache.hadoop.conf.Configuration

/** Spark's own readers of Parquet, told what their bounds and dictionaries may decide. */
object ParquetReaders {

  /** Makes the readers of the columns of `schema`, which may leave out where `predicates` cannot be true. */
  def factory(
      session: SparkSession, schema: StructType, predicates: Array[Predicate]): ParquetPartitionReaderFactory = {
    val configuration = session.sessionState.newHadoopConf()
    configuration.setBoolean("parquet.page.verify-checksum.enabled", true)
    // With the column index, rows of pages that a condition rules out are skipped in pages of other columns. Spark's
    // reader of DELTA_BINARY_PACKED restarts its page if it is asked for zero values, and then returns wrong values.
    configuration.setBoolean("parquet.filter.columnindex.enabled", false)
    val conf = session.sessionState.conf
    val key = Key(session.sparkContext.applicationId, schema, conf.sessionLocalTimeZone, settings(configuration))
    known.getOrMake(key)(sparks(session, configuration, schema))
      .copy(sqlConf = conf, filters = filters(session, schema, predicates))
  }

  /** What decides a factory without filters. */
  private case class Key(application: String, schema: StructType, timeZone: String, settings: JMap[String, String])

  /** The last 64. To make one, Spark broadcasts more than 1,000 settings, which takes about 5 ms: a tenth of a query
    * over few rows. Settings that change are another key. */
  private val known = new BoundedCache[Key, ParquetPartitionReaderFactory](64, _ => 1)

  private def settings(configuration: Configuration): JMap[String, String] = {
    val settings = new HashMap[String, String](2 * configuration.size)
    configuration.forEach(setting => settings.put(setting.getKey, setting.getValue))
    settings
  }

  /** The factory that Spark's own scan makes; the scan's file index is null, as it only plans splits. */
  private def sparks(
      session: SparkSession, configuration: Configuration, schema: StructType): ParquetPartitionReaderFactory = {
    val options = Map("datetimeRebaseMode" -> "CORRECTED", "int96RebaseMode" -> "CORRECTED")
    ParquetScan(session, configuration, null, schema, schema, StructType(Nil), Array.empty,
      new CaseInsensitiveStringMap(options.asJava)).createReaderFactory().asInstanceOf[ParquetPartitionReaderFactory]
  }

  private def filters(session: SparkSession, schema: StructType, predicates: Array[Predicate]): Array[Filter] = {
    val decided = predicates.filter(predicate => isWholeInV1(predicate) && isDecidedByBounds(schema, predicate))
    SQLConf.withExistingConf(newTimes(session))(PredicateUtils.toV1(decided))
  }

  /** Settings with which filter literals become java.time values: java.sql lacks the ten days before 15 October
    * 1582. */
  private def newTimes(session: SparkSession): SQLConf = {
    val conf = session.sessionState.conf.clone()
    conf.setConf(SQLConf.DATETIME_JAVA8API_ENABLED, true)
    conf
  }

  /** Whether `toV1` leaves out no part of a condition. Of an OR, and of an AND below a NOT, it keeps the part that it
    * can convert alone, which rules out too much. */
  private def isWholeInV1(predicate: Predicate): Boolean = predicate match {
    case and: And => isWholeInV1(and.left) && isWholeInV1(and.right)
    case or: Or => isWholeInV1(or.left) && isWholeInV1(or.right)
    case not: Not => isWholeInV1(not.child)
    case leaf => PredicateUtils.toV1(leaf).nonEmpty
  }

  /** Whether Parquet's bounds and dictionaries decide where a condition cannot be true. For floating-point columns they
    * ignore NaN, which is Spark's greatest value, and distinguish two zeros, which are equal in Spark. */
  private def isDecidedByBounds(schema: StructType, predicate: Predicate): Boolean = {
    def isFloating(column: NamedReference): Boolean = schema.findNestedField(column.fieldNames.toSeq)
      .forall { case (_, field) => field.dataType == FloatType || field.dataType == DoubleType }
    def isPlain(value: Expression): Boolean = value match {
      case literal: Literal[_] => literal.value match {
          case number: Double => !number.isNaN && number != 0
          case number: Float => !number.isNaN && number != 0
          case _ => false
        }
      case _ => false
    }
    !predicate.references.exists(isFloating) || (predicate.name match {
      case "IS_NULL" | "IS_NOT_NULL" => true
      case "=" | "<=>" | "<" | "<=" | "IN" => predicate.children.tail.forall(isPlain)
      case _ => false
    })
  }
}
