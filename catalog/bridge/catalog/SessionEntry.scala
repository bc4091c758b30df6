package org.apache.spark.sql.tablestore

import java.net.URI

import org.apache.hadoop.fs.Path
import org.apache.spark.SPARK_VERSION
import org.apache.spark.sql.catalyst.TableIdentifier
import org.apache.spark.sql.catalyst.catalog._
import org.apache.spark.sql.classic.SparkSession
import org.apache.spark.sql.connector.catalog.TableCatalog
import org.json4s._
import org.json4s.jackson.JsonMethods.{compact, parse}

/** A foreign table as an entry of Spark's session catalog, and back. What a definition has no place for is its
  * `sessionEntry`, JSON that only this object reads and writes. */
object SessionEntry {
  private val reserved = Set(
    TableCatalog.PROP_LOCATION,
    TableCatalog.PROP_IS_MANAGED_LOCATION,
    TableCatalog.PROP_PROVIDER,
    TableCatalog.PROP_COMMENT,
    TableCatalog.PROP_OWNER,
    TableCatalog.PROP_EXTERNAL,
    TableCatalog.PROP_COLLATION
  )

  private val follows = "followsFolders"

  /** The definition with the mark that its partitions are those that have folders; None if it has it or tells none. */
  def followingFolders(definition: ForeignDefinition): Option[ForeignDefinition] = {
    val entry = definition.sessionEntry.map(parse(_)).getOrElse(JNothing)
    if (entry \ "tracksPartitions" != JBool(true) || isFollowing(definition)) None
    else Some(definition.copy(sessionEntry = Some(compact(marked(entry)))))
  }
  def isFollowing(definition: ForeignDefinition): Boolean =
    definition.sessionEntry.exists(parse(_) \ follows == JBool(true))
  private def marked(entry: JValue): JValue = entry merge JObject(follows -> JBool(true))

  /** The table and its partitions. */
  def read(name: TableIdentifier, definition: ForeignDefinition): (CatalogTable, Seq[CatalogTablePartition]) = {
    val more = definition.sessionEntry.map(parse(_)).getOrElse(JNothing)
    val options = definition.options.filterNot(_._1.equalsIgnoreCase("path"))
    val table = CatalogTable(
      identifier = name,
      tableType = if (definition.isOwnFolder) CatalogTableType.MANAGED else CatalogTableType.EXTERNAL,
      storage = CatalogStorageFormat.empty.copy(
        locationUri = definition.location.map(qualified),
        properties = options),
      schema = definition.columns,
      provider = Some(definition.provider),
      partitionColumnNames = definition.partitionColumns,
      bucketSpec = definition.bucket,
      owner = text(more \ "owner").orElse(definition.properties.get(TableCatalog.PROP_OWNER)).getOrElse(""),
      createTime = number(more \ "createTime").getOrElse(0L),
      createVersion = text(more \ "createVersion").getOrElse(SPARK_VERSION),
      properties = definition.properties.filterNot { case (key, _) =>
        reserved.contains(key) || key.startsWith(TableCatalog.OPTION_PREFIX)
      },
      stats = statistics(more \ "statistics", name.table),
      comment = definition.properties.get(TableCatalog.PROP_COMMENT),
      tracksPartitionsInCatalog = more \ "tracksPartitions" == JBool(true),
      collation = definition.properties.get(TableCatalog.PROP_COLLATION)
    )
    val told = elements(more \ "partitions").map(partition(_, table))
    val found = if (isFollowing(definition)) ForeignTables.partitionFolders(table, SparkSession.active) else Nil
    (table, told ++ found.filterNot(one => told.exists(_.spec == one.spec)))
  }

  /** A location as Spark's session catalog has it, with its file system. */
  private def qualified(location: String): URI = {
    val path = new Path(CatalogUtils.stringToURI(location))
    path.getFileSystem(SparkSession.active.sparkContext.hadoopConfiguration).makeQualified(path).toUri
  }

  /** `known` with what the table's entry and its partitions say now. */
  def written(
      known: ForeignDefinition, table: CatalogTable, partitions: Seq[CatalogTablePartition]): ForeignDefinition = {
    val kept = known.properties.filter { case (key, _) => reserved.contains(key) && key != TableCatalog.PROP_COMMENT }
    val options = table.storage.properties.map { case (key, value) => (TableCatalog.OPTION_PREFIX + key) -> value }
    val place = table.storage.locationUri.map(uri => TableCatalog.PROP_LOCATION -> CatalogUtils.URIToString(uri))
    val owned = known.properties.contains(TableCatalog.PROP_IS_MANAGED_LOCATION)
    known.copy(
      columns = table.schema,
      partitionColumns = table.partitionColumnNames,
      properties = table.properties ++ options ++ kept ++ (if (owned) None else place) ++
        table.comment.map(TableCatalog.PROP_COMMENT -> _),
      sessionEntry = Some {
        val entry = text(table, partitions)
        if (isFollowing(known)) compact(marked(parse(entry))) else entry
      }
    )
  }

  /** The `sessionEntry` of a table. */
  def text(table: CatalogTable, partitions: Seq[CatalogTablePartition]): String = compact(JObject(List(
        "owner" -> JString(table.owner),
        "createTime" -> JLong(table.createTime),
        "createVersion" -> JString(table.createVersion),
        "bucket" -> table.bucketSpec.map(bucket =>
          JObject("count" -> JInt(bucket.numBuckets), "columns" -> strings(bucket.bucketColumnNames),
            "sortedBy" -> strings(bucket.sortColumnNames))).getOrElse(JNothing),
        "tracksPartitions" -> JBool(table.tracksPartitionsInCatalog),
        "statistics" -> table.stats.map(json).getOrElse(JNothing),
        "partitions" -> JArray(partitions.sortBy(_.spec.toSeq.sorted.toString).map(json(_, table)).toList)
      ).filter(_._2 != JNothing)))

  /** The buckets that a `sessionEntry` tells. */
  def bucket(entry: Option[String]): Option[BucketSpec] = entry.map(parse(_) \ "bucket").collect {
    case found: JObject => BucketSpec(number(found \ "count").get.toInt, elements(found \ "columns").flatMap(text),
        elements(found \ "sortedBy").flatMap(text))
  }

  // A partition in the folder that its values name is written without it, so that the table's folder may move.
  private def json(partition: CatalogTablePartition, table: CatalogTable): JValue = {
    val usual = usualPlace(partition.spec, table)
    JObject(List(
        "values" -> JObject(partition.spec.toList.map { case (column, value) => column -> JString(value) }),
        "location" -> partition.storage.locationUri.filterNot(usual.contains)
          .map(uri => JString(CatalogUtils.URIToString(uri))).getOrElse(JNothing),
        "parameters" -> texts(partition.parameters),
        "createTime" -> JLong(partition.createTime),
        "statistics" -> partition.stats.map(json).getOrElse(JNothing)
      ).filter { case (_, value) => value != JNothing && value != JObject(Nil) })
  }
  private def partition(json: JValue, table: CatalogTable): CatalogTablePartition = {
    val values = map(json \ "values")
    CatalogTablePartition(
      values,
      table.storage.copy(locationUri =
        text(json \ "location").map(CatalogUtils.stringToURI).orElse(usualPlace(values, table))),
      map(json \ "parameters"),
      number(json \ "createTime").getOrElse(0L),
      -1L,
      statistics(json \ "statistics", table.identifier.table)
    )
  }
  private def usualPlace(values: Map[String, String], table: CatalogTable): Option[URI] =
    table.storage.locationUri.map(folder =>
      ExternalCatalogUtils.generatePartitionPath(values, table.partitionColumnNames,
        new Path(folder)).toUri)

  private def json(statistics: CatalogStatistics): JValue = JObject(List(
      "sizeBytes" -> JString(statistics.sizeInBytes.toString),
      "rows" -> statistics.rowCount.map(count => JString(count.toString)).getOrElse(JNothing),
      "columns" -> JObject(
        statistics.colStats.toList.map { case (column, stat) => column -> texts(stat.toMap(column)) })
    ).filter(_._2 != JNothing))
  private def statistics(json: JValue, table: String): Option[CatalogStatistics] = text(json \ "sizeBytes").map(size =>
    CatalogStatistics(
      BigInt(size),
      text(json \ "rows").map(BigInt(_)),
      members(json \ "columns").flatMap { case (column, stat) =>
        CatalogColumnStat.fromMap(table, column, map(stat)).map(column -> _)
      }
    ))

  private def strings(values: Seq[String]): JValue = JArray(values.map(JString(_)).toList)
  private def texts(values: Map[String, String]): JValue =
    JObject(values.toList.sorted.map { case (key, value) => key -> JString(value) })
  private def text(json: JValue): Option[String] = Some(json).collect { case JString(value) => value }
  private def number(json: JValue): Option[Long] = Some(json).collect {
    case JInt(value) => value.toLong
    case JLong(value) => value
  }
  private def elements(json: JValue): Seq[JValue] = Some(json).collect { case JArray(values) => values }.getOrElse(Nil)
  private def members(json: JValue): Map[String, JValue] =
    Some(json).collect { case JObject(fields) => fields.toMap }.getOrElse(Map.empty)
  private def map(json: JValue): Map[String, String] =
    members(json).flatMap { case (key, value) => text(value).map(key -> _) }
}
