package org.apache.spark.sql.tablestore

/** A cheap test that keeps statements that are plainly Spark's away from the planner; sql_ext/prefilter.py has the
  * same pattern and the tests that go with it. */
object StatementFilter {
  private val pattern = java.util.regex.Pattern.compile(
    """^(?:\s|--[^\n]*\n|/\*(?!\+).*?\*/)*(?:explain\b.*?\b)?(?:create|alter|drop|insert|set|reset|use|desc|describe|with)\b|/\*\+.*OPTIONS""",
    java.util.regex.Pattern.CASE_INSENSITIVE | java.util.regex.Pattern.DOTALL)

  def maybeOurs(sql: String): Boolean = pattern.matcher(sql).find()
}
