package org.apache.spark.sql.tablestore

import org.apache.spark.sql.classic
import org.apache.spark.sql.catalyst.plans.logical.{AppendData, InsertIntoStatement, LogicalPlan, Project}
import org.apache.spark.sql.internal.SQLConf
import org.json4s.jackson.JsonMethods.compact

/** Texts of queries with what gives them their meaning, to be analysed later and again and again. */
object StoredQueries {

  /** A text with what gives it its meaning in a user's session. */
  def of(user: classic.SparkSession, text: String): Requests.StoredQuery = {
    val state = user.sessionState
    Requests.StoredQuery(
      text,
      state.catalogManager.currentCatalog.name,
      state.catalogManager.currentNamespace.toSeq,
      KeptSettings.of(state.conf)
    )
  }

  /** The same of an INSERT. */
  def ofInsert(user: classic.SparkSession, text: String): Requests.StoredQuery =
    user.sessionState.sqlParser.parsePlan(text) match {
      case insert: InsertIntoStatement =>
        val query =
          ConnectorColumns.ofJob(StreamingStatements.anyMode(user.sessionState.executePlan(insert.query).analyzed))
        of(user, text).copy(columns = query.output.map(_.name))
      case _ => of(user, text)
    }

  /** The same as JSON. */
  def textOf(user: classic.SparkSession, text: String): String = compact(ofInsert(user, text).toJson)

  /** What the planner keeps of it, as JSON. */
  def read(json: String): Requests.StoredQuery = {
    val known = new Answers.StoredQuery(Json.parse(json))
    Requests.StoredQuery(known.text, known.currentCatalog, known.currentNamespace, known.settings, known.columns)
  }

  /** A session that has the catalogs of a user's, and no other setting of it. */
  def besides(user: classic.SparkSession): classic.SparkSession = {
    val session = user.newSession()
    catalogsOf(user).foreach { case (key, value) => session.sessionState.conf.setConfString(key, value) }
    session
  }

  /** The settings of a user's catalogs. */
  def catalogsOf(user: classic.SparkSession): Map[String, String] =
    user.sessionState.conf.getAllConfs.filter(_._1.startsWith("spark.sql.catalog."))

  /** Such a session in which a query has its meaning: it has none of a user's temporary objects. */
  def sessionOf(user: classic.SparkSession, query: Requests.StoredQuery): classic.SparkSession = {
    val session = besides(user)
    KeptSettings.restore(query.settings, session.sessionState.conf)
    // A catalog is configured by the active session's settings, or by those under which another plan is analysed now.
    session.withActive(SQLConf.withExistingConf(session.sessionState.conf) {
      session.sessionState.catalogManager.setCurrentCatalog(query.currentCatalog)
      session.sessionState.catalogManager.setCurrentNamespace(query.currentNamespace.toArray)
    })
    session
  }

  /** A query as Spark analyses it anywhere, over other versions of some tables, by their directories. */
  def analysed(session: classic.SparkSession, query: Requests.StoredQuery, versions: Map[String, String]): LogicalPlan =
    session.withActive {
      def known(select: LogicalPlan) = withColumns(session, select, query.columns)
      val stated = session.sessionState.sqlParser.parsePlan(query.text)
      if (stated.exists(_.isInstanceOf[InsertIntoStatement])) ConnectorColumns.markOfJobs(session.sessionState.conf)
      val parsed = stated match {
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
  private def withColumns(session: classic.SparkSession, select: LogicalPlan, columns: Seq[String]): LogicalPlan = {
    val isSame = session.sessionState.conf.resolver
    val found = columns.zipWithIndex.map { case (name, at) =>
      select.output.filter(column => isSame(column.name, name)).lift(columns.take(at).count(isSame(_, name)))
    }
    if (found.isEmpty || select.output.size == found.size || found.contains(None)) select
    else Project(found.flatten, select)
  }
}
