package org.apache.spark.sql.tablestore

import java.net.URI

import scala.collection.mutable
import scala.jdk.CollectionConverters._

import org.apache.hadoop.fs.Path
import org.apache.spark.SparkEnv
import org.apache.spark.sql.classic
import org.apache.spark.sql.connector.catalog.{CatalogPlugin, DefaultCatalogManager}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.util.Utils
import org.json4s.{JArray, JObject, JString}
import org.json4s.jackson.JsonMethods.compact

/** What the planner asks about a session, each in one call. */
object SessionSettings {

  /** A setting's value; null if it has none. */
  def value(session: classic.SparkSession, key: String): String = session.conf.getOption(key).orNull

  /** A catalog of ours as requests name it, as JSON; null if the session has none of this name. */
  def catalog(session: classic.SparkSession, name: String): String = {
    val conf = session.sessionState.conf
    val prefix = s"spark.sql.catalog.$name"
    if (conf.getConfString(prefix, null) != classOf[TableStoreCatalog].getName) null
    else {
      val own = conf.getAllConfs.collect {
        case (key, value) if key.startsWith(s"$prefix.") => key.substring(prefix.length + 1) -> value
      }
      compact(reference(name, own, conf).toJson)
    }
  }

  /** A catalog with its own settings; those of the application alone allow folders besides the warehouse. */
  def reference(name: String, own: Map[String, String], conf: SQLConf): Requests.CatalogReference =
    Requests.CatalogReference(
      name,
      own + (SharedText.name("default-warehouse") -> warehouse(conf)),
      SparkEnv.get.conf.get(s"spark.sql.catalog.$name.${SharedText.name("allowed-roots")}", "")
    )

  /** Where tables are if no catalog says where.
    *
    * Spark's own default is a URI, with a blank as `%20`, which Spark then takes for a folder's name. */
  private def warehouse(conf: SQLConf): String = {
    val said = conf.warehousePath
    if (said == Utils.resolveURI("spark-warehouse").toString.stripSuffix("/")) new Path(new URI(said)).toString
    else said
  }

  /** The settings whose keys start with a prefix, as a JSON object. */
  def starting(session: classic.SparkSession, prefix: String): String = {
    val found = session.sessionState.conf.getAllConfs.filter(_._1.startsWith(prefix)).toList
    compact(JObject(found.map { case (key, value) => key -> JString(value) }))
  }

  /** Lets cached plans over a table read its new rows. */
  def recache(session: classic.SparkSession, name: java.util.List[String]): Unit =
    session.sharedState.cacheManager.recacheTableOrView(session, name.asScala.toSeq, includeTimeTravel = false)

  /** Spark keeps a catalog for as long as the session lives, and has no way to let one go. */
  def forgetCatalog(session: classic.SparkSession, name: String): Unit = {
    val manager = session.sessionState.catalogManager
    val kept = classOf[DefaultCatalogManager].getDeclaredField("catalogs")
    kept.setAccessible(true)
    manager.synchronized(kept.get(manager).asInstanceOf[mutable.Map[String, CatalogPlugin]].remove(name))
  }

  /** The current catalog, followed by the parts of the current namespace, as a JSON array. */
  def current(session: classic.SparkSession): String = {
    val manager = session.sessionState.catalogManager
    compact(JArray((manager.currentCatalog.name :: manager.currentNamespace.toList).map(JString(_))))
  }
}
