package org.apache.spark.sql.tablestore

import java.nio.charset.StandardCharsets.UTF_8
import java.security.SecureRandom
import java.util.Base64
import javax.crypto.Cipher
import javax.crypto.spec.{GCMParameterSpec, SecretKeySpec}

import org.apache.spark.sql.catalyst.analysis.{ResolvedIdentifier, ResolvedTable}
import org.apache.spark.sql.catalyst.plans.logical._
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.internal.SQLConf

/** Encrypts the secrets among a table's options while they are part of a plan, with a key that exists only in this
  * JVM. Plans are shown in Spark's UI and written to its event log, and Spark's own redaction does not cover all of
  * them. The catalog decrypts the secrets. */
object SealedSecrets extends Rule[LogicalPlan] {
  private val prefix = "log.kafka."
  private val mark = "*********(sealed)"
  private val nonceBytes = 12
  private val random = new SecureRandom()
  private val key = new SecretKeySpec(fresh(16), "AES")

  override def apply(plan: LogicalPlan): LogicalPlan = plan match {
    case set @ SetTableProperties(ResolvedTable(_: TableStoreCatalog, _, _, _), properties) =>
      set.copy(properties = hidden(properties))
    case create: CreateTable if isOurs(create.name) => create.copy(tableSpec = hidden(create.tableSpec))
    case create: CreateTableAsSelect if isOurs(create.name) => create.copy(tableSpec = hidden(create.tableSpec))
    case replace: ReplaceTable if isOurs(replace.name) => replace.copy(tableSpec = hidden(replace.tableSpec))
    case replace: ReplaceTableAsSelect if isOurs(replace.name) => replace.copy(tableSpec = hidden(replace.tableSpec))
    case create: CreateMaterializedViewAsSelect if isOurs(create.name) =>
      create.copy(tableSpec = hidden(create.tableSpec))
    case other => other
  }

  private def isOurs(name: LogicalPlan): Boolean = name match {
    case ResolvedIdentifier(_: TableStoreCatalog, _) => true
    case _ => false
  }

  private def hidden(spec: TableSpecBase): TableSpecBase = spec match {
    case spec: UnresolvedTableSpec => spec.copy(properties = hidden(spec.properties))
    case spec: TableSpec => spec.copy(properties = hidden(spec.properties))
    case other => other
  }

  private def hidden(properties: Map[String, String]): Map[String, String] = {
    val shown = SQLConf.get.redactOptions(properties)
    properties.map {
      case (name, value) if name.startsWith(prefix) && shown(name) != value && !value.startsWith(mark) =>
        name -> encrypted(value)
      case same => same
    }
  }

  private def fresh(length: Int): Array[Byte] = { val bytes = new Array[Byte](length); random.nextBytes(bytes); bytes }

  private def cipher(mode: Int, nonce: Array[Byte]): Cipher = {
    val made = Cipher.getInstance("AES/GCM/NoPadding")
    made.init(mode, key, new GCMParameterSpec(128, nonce))
    made
  }

  private def encrypted(value: String): String = {
    val nonce = fresh(nonceBytes)
    mark + Base64.getEncoder.encodeToString(nonce ++ cipher(Cipher.ENCRYPT_MODE, nonce).doFinal(value.getBytes(UTF_8)))
  }

  /** The value before encryption. */
  def opened(value: String): String = if (value == null || !value.startsWith(mark)) value
  else {
    val (nonce, rest) = Base64.getDecoder.decode(value.substring(mark.length)).splitAt(nonceBytes)
    new String(cipher(Cipher.DECRYPT_MODE, nonce).doFinal(rest), UTF_8)
  }
}
