package org.apache.spark.sql.tablestore

/** A cheap test that keeps statements that are clearly Spark's away from the planner. */
object StatementFilter {

  /** Every JDBC session begins with `USE`, at which the entries for JDBC metadata are refreshed. */
  private val beginsSession = java.util.regex.Pattern.compile("""(?i)^\s*USE\b""")
  private val pattern = java.util.regex.Pattern.compile(SharedText.pattern("maybe_ours"))

  def maybeOurs(sql: String): Boolean = pattern.matcher(sql).find() ||
    (beginsSession.matcher(sql).find() && SessionCatalogMirror.isAskedFor)

  /** Whether it may have `CHANGES FROM` or `CHANGES BETWEEN`. */
  def asksForChanges(sql: String): Boolean = changes.matcher(sql).find()
  private val changes = java.util.regex.Pattern.compile("""(?i)\bCHANGES\b""")
}
