package org.apache.spark.sql.tablestore

import java.io.StringReader
import java.nio.charset.StandardCharsets.UTF_8
import java.util.Properties

/** Texts that Scala and Python must have in common: each stands once, in a file that both read (`shared_text.py`). */
object SharedText {

  /** A regular expression, whose lines in the file are one text. */
  def pattern(name: String): String = text(s"$name.regex").linesIterator.mkString

  /** What both sides call something. */
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
