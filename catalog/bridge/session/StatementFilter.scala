package org.apache.spark.sql.tablestore

import scala.annotation.nowarn

/** A cheap test that keeps statements that are plainly Spark's away from the planner. */
object StatementFilter {

  /** The very text of sql_ext/prefilter.py, whose tests hold for both. */
  @nowarn("cat=deprecation") // Spark and Python read the escapes themselves
  private val maybeOursPattern =
    """(?is)/\*\+[\s\xa0\u1680\u2000-\u3000]*OPTIONS\b|^[^\w/-]*(?:""" +
      """(?:--|/\*|EXPLAIN\b).*\b(?:CREATE|REPLACE|ALTER|DROP|(?:RE)?SET|USE|SHOW|DESC(?:RIBE)?)\b""" +
      """|(?:CREATE|REPLACE)\b.*\b(?:TABLE|CATALOG)\b""" +
      """|ALTER\b.*\bCOMPACT\b""" +
      """|DROP\b.*\bTEMP(?:ORARY)?\b""" +
      """|(?:RE)?SET\b(?:[^=]*[-'\x22]|.*/\*)""" +
      """|USE\b.*\bCATALOG\b""" +
      """|SHOW\b.*\bCREATE\b""" +
      """|DESC(?:RIBE)?\b.*\b(?:EXTENDED|FORMATTED)\b)"""

  /** Every JDBC session begins with `USE`: the moment to refresh what JDBC metadata shows. */
  private val beginsSession = java.util.regex.Pattern.compile("""(?i)^\s*USE\b""")
  private val pattern = java.util.regex.Pattern.compile(maybeOursPattern)

  def maybeOurs(sql: String): Boolean = pattern.matcher(sql).find() ||
    (beginsSession.matcher(sql).find() && SessionCatalogMirror.isAskedFor)
}
