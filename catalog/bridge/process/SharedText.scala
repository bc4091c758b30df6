package org.apache.spark.sql.tablestore

import java.io.StringReader
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Properties

/** Texts that Scala and Python share: each is defined once, in a file that both sides read (`shared_text.py`). */
object SharedText {

  /** A regular expression; the lines of its file are joined. */
  def pattern(name: String): String = text(s"$name.regex").linesIterator.mkString

  /** A name that both sides use. */
  def name(key: String): String =
    Option(names.getProperty(key)).getOrElse(throw new NoSuchElementException(s"names.properties has no $key"))

  private lazy val names: Properties = {
    val found = new Properties
    found.load(new StringReader(text("names.properties")))
    found
  }
  private def text(file: String): String = {
    val in = getClass.getResourceAsStream(file)
    try new String(in.readAllBytes, UTF_8)
    finally in.close()
  }
}
