package org.apache.spark.sql.tablestore

import org.apache.spark.sql.classic
import org.json4s.{JArray, JObject, JString}
import org.json4s.jackson.JsonMethods.compact

/** What the planner asks about a session, each in one call. */
object SessionSettings {

  /** A setting's value; null if it has none. */
  def value(session: classic.SparkSession, key: String): String = session.conf.getOption(key).orNull

  /** The settings whose keys start with a prefix, as a JSON object. */
  def starting(session: classic.SparkSession, prefix: String): String = {
    val found = session.sessionState.conf.getAllConfs.filter(_._1.startsWith(prefix)).toList
    compact(JObject(found.map { case (key, value) => key -> JString(value) }))
  }

  /** The current catalog, followed by the parts of the current namespace, as a JSON array. */
  def current(session: classic.SparkSession): String = {
    val manager = session.sessionState.catalogManager
    compact(JArray((manager.currentCatalog.name :: manager.currentNamespace.toList).map(JString(_))))
  }
}
