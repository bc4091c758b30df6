package org.apache.spark.sql.tablestore

import java.io.File
import java.nio.file.{FileAlreadyExistsException, Files, LinkOption, Path, Paths, StandardOpenOption}
import java.nio.file.attribute.PosixFilePermissions

import com.sun.security.auth.module.UnixSystem

import scala.util.control.NonFatal

import org.apache.spark.SparkConf

/** The log file of a planner: only this user can read it, and no other user has prepared its folder. */
object PlannerLog {
  private val ownerOnly = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
  private val readByOwner = PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------"))
  private var unique: Option[Path] = None

  def of(conf: SparkConf): File =
    file(
      conf.getOption("spark.tablestore.planner.log.dir").map(given =>
        Files.createDirectories(Paths.get(given), ownerOnly))
        .getOrElse(folder(System.getProperty("java.io.tmpdir"), System.getProperty("user.name"))))

  /** Whether each line of the log is to be a JSON object. */
  def isJson(conf: SparkConf): Boolean = conf.get("spark.tablestore.planner.log.format", "text") match {
    case "text" => false
    case "json" => true
    case other => throw Errors.invalidLogFormat(other)
  }

  /** The user's log folder below the temporary folder; a new one with an unpredictable name if that folder belongs to
    * another user, who may have put links into it. */
  def folder(temporary: String, user: String): Path = synchronized {
    val usual = Paths.get(temporary, s"table-store-$user")
    try Files.createDirectory(usual, ownerOnly)
    catch { case _: FileAlreadyExistsException => () }
    if (isOwn(usual)) usual
    else {
      if (!unique.exists(Files.isDirectory(_)))
        unique = Some(Files.createTempDirectory(Paths.get(temporary), s"table-store-$user-"))
      unique.get
    }
  }

  private def isOwn(path: Path): Boolean =
    try {
      val own = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS) &&
        Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS) == new UnixSystem().getUid.toInt
      if (own) Files.setPosixFilePermissions(path, ownerOnly.value)
      own
    } catch { case NonFatal(_) | _: LinkageError => false }

  /** The log file of this JVM's planners, which is created if missing; it is never a symbolic link. */
  def file(folder: Path): File = {
    val path = folder.resolve(s"planner-${ProcessHandle.current().pid()}.log")
    Files.newByteChannel(path,
      java.util.Set.of(StandardOpenOption.CREATE, StandardOpenOption.APPEND, LinkOption.NOFOLLOW_LINKS),
      readByOwner).close()
    path.toFile
  }
}
