package org.apache.spark.sql.tablestore

/** A cheap test that keeps statements that are clearly Spark's away from the planner. */
object StatementFilter {

  def maybeOurs(sql: String): Boolean = pattern.matcher(sql).find()
  private val pattern = java.util.regex.Pattern.compile(SharedText.pattern("maybe_ours"))

  /** Whether it is a `USE`, with which every JDBC session begins. */
  def beginsSession(sql: String): Boolean = use.matcher(sql).find()
  private val use = java.util.regex.Pattern.compile("""(?i)^\s*USE\b""")

  /** Whether it may have `CHANGES FROM` or `CHANGES BETWEEN`. */
  def asksForChanges(sql: String): Boolean = changes.matcher(sql).find()
  private val changes = java.util.regex.Pattern.compile("""(?i)\bCHANGES\b""")
}
